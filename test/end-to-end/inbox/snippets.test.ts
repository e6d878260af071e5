import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import {
  createLead,
  createWorkspace,
  createWorkspaceWithLine,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspaceWithLine(app);
});

const greeting = { name: 'Greeting', text: 'Hi {{ firstName | default: "there" }}, how can we help?' };

describe('snippets', () => {
  it('are created, listed newest first, changed field by field and deleted', async () => {
    const { api } = await createWorkspace(app);
    const created = await api('POST', '/api/snippets', greeting);
    expect(created).toMatchObject({ status: 201, body: { success: true, snippet: greeting } });
    const { _id } = created.body.snippet;
    const hours = (await api('POST', '/api/snippets', { name: 'Hours', text: 'From nine to five' })).body;
    const first = (await api('GET', '/api/snippets?limit=1')).body;
    expect(first).toMatchObject({ success: true, snippets: [hours.snippet] });
    const second = (await api('GET', `/api/snippets?limit=1&cursor=${first.nextCursor}`)).body;
    expect(second).toMatchObject({ snippets: [created.body.snippet], nextCursor: null });

    expect(await api('PATCH', `/api/snippets/${_id}`, { name: ' Welcome ' })).toMatchObject({
      status: 200,
      body: { snippet: { _id, name: 'Welcome', text: greeting.text } },
    });
    expect(await api('PATCH', `/api/snippets/${_id}`, { text: 'Hello' })).toMatchObject({
      status: 200,
      body: { snippet: { _id, name: 'Welcome', text: 'Hello' } },
    });
    expect(await api('DELETE', `/api/snippets/${_id}`)).toMatchObject({ status: 200 });
    for (const [method, body] of [['PATCH', { name: 'Again' }], ['DELETE']] as const)
      expect(await api(method, `/api/snippets/${_id}`, body)).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND' },
      });
    expect((await api('GET', '/api/snippets')).body.snippets).toEqual([hours.snippet]);
  });

  it('are rendered for the contact when their text is sent as a reply', async () => {
    const { api, id } = workspace;
    const to = phone();
    const leadId = await createLead(app, id, { first_name: 'Ada', phones: [to] });
    const { snippet } = (await api('POST', '/api/snippets', greeting)).body;
    const sent = await api('POST', '/api/inbox/send-reply', { leadId, message: snippet.text });
    expect(sent.status).toBe(201);
    const [message] = await eventually(async () => {
      const found = await sentTo(app, to);
      return found.length > 0 && found;
    });
    expect(message?.text).toBe('Hi Ada, how can we help?');
  });

  it.each([
    ['text', { ...greeting, text: '{{ firstName ' }],
    ['text', { ...greeting, text: '{% include "secrets" %}' }],
    ['text', { ...greeting, text: ' \n ' }],
    ['text', { ...greeting, text: 'x'.repeat(10_001) }],
    ['text', { name: 'No text' }],
    ['name', { ...greeting, name: ' ' }],
    ['name', { text: 'No name' }],
  ])('with an invalid %s are refused, and the error names the field', async (field, body) => {
    expect(await workspace.api('POST', '/api/snippets', body)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR', issues: [{ path: field }] },
    });
  });

  it('are written by keys that may send, and deleted by those that may manage', async () => {
    const { ownerId: userId, id: organizationId } = workspace;
    const owner = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
    const keyWith = async (scope: string) =>
      apiClient(app.url, (await owner('POST', '/api/keys', { name: scope, scopes: [scope] })).body.key);
    const [read, send, manage] = [await keyWith('read'), await keyWith('send'), await keyWith('manage')];
    expect((await read('POST', '/api/snippets', greeting)).body.code).toBe('INSUFFICIENT_SCOPE');
    const { status, body } = await send('POST', '/api/snippets', greeting);
    expect(status).toBe(201);
    const path = `/api/snippets/${body.snippet._id}`;
    expect((await send('DELETE', path)).body.code).toBe('INSUFFICIENT_SCOPE');
    expect((await manage('DELETE', path)).status).toBe(200);
  });

  it('are found by any part of the name or the text, as webhooks are by name and opt-outs by address', async () => {
    const { api } = await createWorkspace(app);
    for (const [name, text] of [
      ['Öffnungszeiten', 'Nine to five'],
      ['Way', 'Over the CAFÉ'],
    ])
      await api('POST', '/api/snippets', { name, text });
    for (const name of ['Café CRM', 'Billing'])
      await api('POST', '/api/webhooks', {
        name,
        url: 'https://hooks.example.com/x',
        events: ['message.sent'],
      });
    for (const address of ['+14155550190', 'Ada@Example.com'])
      await api('POST', '/api/opt-outs', { address });
    const found = async (path: string, list: string, field: string): Promise<string[]> =>
      (await api('GET', path)).body[list].map((one: Record<string, string>) => one[field]);
    expect(await found('/api/snippets?search=offnung', 'snippets', 'name')).toEqual(['Öffnungszeiten']);
    expect(await found('/api/snippets?search=cafe', 'snippets', 'name')).toEqual(['Way']);
    expect(await found('/api/webhooks?search=cafe', 'webhooks', 'name')).toEqual(['Café CRM']);
    expect(await found('/api/opt-outs?search=(415)%20555-0190', 'optOuts', 'address')).toEqual([
      '+14155550190',
    ]);
    expect(await found('/api/opt-outs?search=ADA', 'optOuts', 'address')).toEqual(['ada@example.com']);
    expect(await found('/api/snippets?search=%25', 'snippets', 'name')).toEqual([]);
  });
});
