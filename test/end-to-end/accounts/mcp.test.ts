import { readFile } from 'node:fs/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TenantRoute } from '#api/http/route.ts';
import { scopesOf } from '#api/http/scopes.ts';
import { TOOLS } from '#api/mcp/tools.ts';
import { routes } from '#api/routes.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createKey,
  createLead,
  createWorkspace,
  createWorkspaceWithLine,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspaceWithLine(app);
});

const keyWith = (scopes: string, fields = {}): Promise<string> =>
  createKey(app, 'workspace', workspace.id, { scopes: `{${scopes}}`, ...fields });

/** An assistant with the protocol's own client. */
async function connect(key: string, mode: 'legacy' | 'auto' = 'legacy'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', app.url), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
  );
  return client;
}

interface Result {
  isError?: boolean;
  content: { text: string }[];
  // Tests read any field.
  // oxlint-disable-next-line no-explicit-any
  structuredContent: any;
}

const use = async (client: Client, name: string, input: Record<string, unknown> = {}): Promise<Result> =>
  (await client.callTool({ name, arguments: input })) as unknown as Result;

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name).toSorted();

const ALL = TOOLS.map(({ name }) => name).toSorted();

describe('an assistant', () => {
  it.each(['legacy', 'auto'] as const)('connects and finds described tools (%s)', async (mode) => {
    const client = await connect(workspace.key, mode);
    expect(client.getServerVersion()).toMatchObject({ name: 'linepace' });
    expect(client.getInstructions()).toContain('a person approves');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(ALL);
    for (const { name, annotations, description, inputSchema } of tools) {
      expect(description, name).toBeTruthy();
      expect(inputSchema.type, name).toBe('object');
      expect(annotations, name).toMatchObject({
        readOnlyHint: !name.startsWith('draft_'),
        destructiveHint: false,
      });
    }
    expect(await use(client, 'list_lines')).toMatchObject({
      structuredContent: { lines: [{ _id: workspace.lineId }] },
    });
  });

  it('drafts with read and draft, and cannot send; whoever may send approves', async () => {
    const key = await keyWith('read,draft');
    const client = await connect(key);
    const api = apiClient(app.url, key);
    const sender = apiClient(app.url, await keyWith('send'));
    const [contact, stranger] = [phone(), phone()];
    const leadId = await createLead(app, workspace.id, { phones: [contact] });
    await eventually(
      async () => (await callBack(app, workspace.lineId, replyEvent(contact, 'Is it still free?'))) === 200,
    );
    const { body: made } = await workspace.api('POST', '/api/lists', { name: 'Everybody' });
    const { body } = await workspace.api('POST', '/api/campaigns', {
      name: 'Spring',
      listId: made.list._id,
      steps: [{ message: 'Hi', delay: {} }],
    });
    const scheduled = await workspace.api('POST', '/api/messages', {
      message: 'Later',
      recipientPhone: contact,
      scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const before = await messagesOf(api);
    const inputs: Record<string, Record<string, unknown>> = {
      search_contacts: { search: contact },
      list_conversations: {},
      read_conversation: { address: contact },
      list_messages: { leadId },
      explain_message: { messageId: scheduled.body._id },
      list_lines: {},
      line_pace: { lineId: workspace.lineId },
      line_reputation: { lineId: workspace.lineId },
      list_campaigns: {},
      campaign_progress: { campaignId: body.campaign._id },
      campaign_forecast: { campaignId: body.campaign._id },
      analytics: { lineId: workspace.lineId },
      analytics_over_time: { interval: 'day' },
      list_drafts: { status: 'drafted' },
      draft_reply: { address: contact, message: 'Yes, {{ notes }} until Friday.' },
      draft_message: { phone: stranger, message: 'Hello' },
    };
    expect(Object.keys(inputs).toSorted()).toEqual(ALL);
    const results: Record<string, Result> = {};
    for (const [name, input] of Object.entries(inputs)) {
      results[name] = await use(client, name, input);
      expect(results[name].isError, `${name}: ${results[name].content[0]?.text}`).toBeFalsy();
    }
    expect(results).toMatchObject({
      search_contacts: { structuredContent: { leads: [{ _id: leadId }] } },
      read_conversation: {
        structuredContent: { messages: [{ message: 'Later' }, { message: 'Is it still free?' }] },
      },
      explain_message: { structuredContent: { messageId: scheduled.body._id } },
      campaign_progress: { structuredContent: { campaign: { name: 'Spring' } } },
      draft_reply: {
        structuredContent: { draft: { status: 'drafted', inboundText: 'Is it still free?', source: 'api' } },
      },
      draft_message: { structuredContent: { draft: { status: 'drafted', conversationRecipient: stranger } } },
    });
    // A contact cannot have the assistant write a placeholder that is filled when the draft is sent.
    expect(results['draft_reply']?.structuredContent.draft.draftMessage).not.toContain('{{');

    expect(await messagesOf(api)).toEqual(before);
    const replyId = results['draft_reply']?.structuredContent.draft.replyId;
    const decision = { replyId, action: 'approve' };
    for (const [path, sent] of [
      ['/api/messages', { message: 'Hello', recipientPhone: contact }],
      ['/api/drip', { message: 'Hello', recipientPhone: contact }],
      ['/api/inbox/send-reply', { message: 'Hello', phone: contact }],
      ['/api/knowledge-base/auto-replies', decision],
      [`/api/campaigns/${body.campaign._id}/start`, {}],
    ] as const)
      expect(await api('POST', path, sent), path).toMatchObject({
        status: 403,
        body: { code: 'INSUFFICIENT_SCOPE' },
      });
    expect(await messagesOf(api)).toEqual(before);

    const approved = await sender('POST', '/api/knowledge-base/auto-replies', decision);
    expect(approved).toMatchObject({ status: 200, body: { status: 'approved' } });
    await eventually(
      async () => (await api('GET', `/api/messages/${approved.body.messageId}`)).body.status === 'delivered',
    );
  });

  const messagesOf = async (api: ApiClient): Promise<string[]> =>
    (await api('GET', '/api/messages?limit=200')).body.messages.map(({ _id }: { _id: string }) => _id);

  it('sees the tools that the scopes of its key allow, and can use no other', async () => {
    const reader = await connect(await keyWith('read'));
    expect(await namesOf(reader)).toEqual(ALL.filter((name) => !name.startsWith('draft_')));
    await expect(use(reader, 'draft_message', { phone: phone(), message: 'Hello' })).rejects.toThrow(
      'draft_message',
    );
    const writer = await connect(await keyWith('draft'));
    expect(await namesOf(writer)).toEqual(['draft_message', 'draft_reply', 'list_drafts']);
    await expect(connect(await keyWith('send,manage'))).rejects.toThrow('INSUFFICIENT_SCOPE');
  });

  it('learns why the API refuses, and what is wrong with its input', async () => {
    const client = await connect(workspace.key);
    const refused = await use(client, 'explain_message', { messageId: '65f000000000000000000000' });
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('NOT_FOUND') as string }],
    });
    const both = { address: phone(), replyId: '65f000000000000000000000', message: 'Hello' };
    expect((await use(client, 'draft_reply', both)).content[0]?.text).toContain('VALIDATION_ERROR: replyId');
    expect((await use(client, 'analytics', { dateFrom: 'yesterday' })).content[0]?.text).toContain(
      'dateFrom',
    );
    expect((await use(client, 'read_conversation', { address: '../messages' })).isError).toBe(true);
    expect((await use(client, 'list_messages', { limit: 1000 })).isError).toBe(true);
  });

  it('reads only what is of the workspace of its key', async () => {
    const other = await createWorkspace(app);
    const leadId = await createLead(app, other.id, { phones: [phone()] });
    const client = await connect(workspace.key);
    const found = await use(client, 'list_messages', { leadId });
    expect(found.structuredContent?.messages ?? []).toEqual([]);
    const drafted = await use(client, 'draft_message', { leadId, message: 'Hello' });
    expect(drafted.content[0]?.text).toContain('NOT_FOUND: leadId');
  });

  it('is refused from addresses that its key does not allow, behind a tool as well', async () => {
    await expect(connect(await keyWith('read', { allowed_ips: '{203.0.113.7/32}' }))).rejects.toThrow(
      'IP_NOT_ALLOWED',
    );
    const here = await connect(await keyWith('read', { allowed_ips: '{127.0.0.1/32,::1/128}' }));
    expect((await use(here, 'list_lines')).isError).toBeFalsy();
  });

  it('reads, and writes nothing, while its workspace is past due', async () => {
    const late = await createWorkspace(app, { subscription_status: 'past_due' });
    const client = await connect(late.key);
    expect((await use(client, 'list_lines')).isError).toBeFalsy();
    const refused = await use(client, 'draft_message', { phone: phone(), message: 'Hello' });
    expect(refused.content[0]?.text).toContain('READ_ONLY');
  });

  it('uses up the limits of the endpoints that its tools call', async () => {
    const busy = await createWorkspace(app);
    const client = await connect(busy.key);
    const results = await Promise.all(Array.from({ length: 130 }, () => use(client, 'list_lines')));
    const refused = results.filter(({ isError }) => isError);
    expect(refused.length).toBeGreaterThanOrEqual(1);
    expect(refused[0]?.content[0]?.text).toContain('RATE_LIMITED');
    expect((await apiClient(app.url, busy.key)('GET', '/api/lines/by-user')).status).toBe(429);
  });
});

describe('the tools', () => {
  it('call only endpoints that need the scopes read and draft', () => {
    const scopes = TOOLS.flatMap(({ operation }) => {
      const route = routes.find(({ id }) => id === operation) as TenantRoute;
      return scopesOf(route);
    });
    expect(new Set(scopes)).toEqual(new Set(['read', 'draft']));
  });

  it('are all in docs/mcp.md', async () => {
    const text = await readFile('docs/mcp.md', 'utf8');
    expect(ALL.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('POST /mcp', () => {
  const post = (message: object, headers = {}) =>
    apiClient(app.url, workspace.key)('POST', '/mcp', { jsonrpc: '2.0', ...message }, headers);

  it('answers requests with JSON, and notifications with 202', async () => {
    const list = await post({ id: 1, method: 'tools/list' });
    expect(list.headers.get('content-type')).toContain('application/json');
    expect(list).toMatchObject({ status: 200, body: { jsonrpc: '2.0', id: 1 } });
    expect(list.body.result.tools).toHaveLength(ALL.length);
    expect(await post({ method: 'notifications/initialized' })).toMatchObject({ status: 202, body: '' });
  });

  it('answers what it cannot serve with the errors of the protocol, and keeps no stream open', async () => {
    expect(await post({ id: 1, method: 'no/such' })).toMatchObject({
      status: 200,
      body: { id: 1, error: { code: -32_601 } },
    });
    const modern = (version: string, method: string) =>
      post(
        {
          id: 2,
          method,
          params: {
            notifications: {},
            _meta: {
              'io.modelcontextprotocol/protocolVersion': version,
              'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        },
        { 'mcp-protocol-version': version, 'mcp-method': method },
      );
    expect(await modern('2099-01-01', 'tools/list')).toMatchObject({
      status: 400,
      body: { error: { data: { supported: expect.arrayContaining(['2026-07-28']) as string[] } } },
    });
    expect(await modern('2026-07-28', 'no/such')).toMatchObject({
      status: 404,
      body: { error: { code: -32_601 } },
    });
    expect(await modern('2026-07-28', 'subscriptions/listen')).toMatchObject({
      body: { error: { message: expect.stringContaining('limit') as string } },
    });
    for (const method of ['GET', 'DELETE'])
      expect((await apiClient(app.url, workspace.key)(method, '/mcp')).status).toBe(405);
    expect((await apiClient(app.url, '')('POST', '/mcp', { jsonrpc: '2.0' })).status).toBe(401);
  });
});
