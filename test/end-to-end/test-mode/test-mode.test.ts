import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { sql } from 'slonik';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint, verify } from '#test/support/endpoint.ts';
import { openEventStream } from '#test/support/event-stream.ts';
import { createAgency, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';
import { openTestMode, type TestMode } from '#test/support/test-mode.ts';
import { runRetention } from '#test/support/workflows.ts';

let app: TestApp;
let workspace: TestWorkspace;
let twin: TestMode;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
});
beforeEach(async () => {
  workspace = await createWorkspace(app);
  twin = await openTestMode(app, workspace);
  ({ api } = twin);
});

const run = (statement: ReturnType<typeof sql.fragment>): Promise<unknown> =>
  systemDb(app.pools).query(sql.type(NoRows)`${statement}`);

async function send(to: string, fields: object = {}): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', {
    recipientPhone: to,
    message: 'Hello',
    ...fields,
  });
  expect([status, body.error]).toEqual([201, undefined]);
  return body._id;
}
const statusOf = async (id: string): Promise<string> => (await api('GET', `/api/messages/${id}`)).body.status;
const until = (id: string, status: string) => eventually(async () => (await statusOf(id)) === status);

describe('a key for test mode', () => {
  it('acts in the twin of its workspace, and is managed like any other', async () => {
    expect(twin.key).toMatch(/^svc_test_/);
    const { body } = await api('GET', '/api/workspace');
    expect(body.workspace).toMatchObject({
      mode: 'test',
      liveWorkspaceId: workspace.id,
      testWorkspaceId: null,
    });
    const live = (await workspace.api('GET', '/api/workspace')).body.workspace;
    expect(live).toMatchObject({ mode: 'live', liveWorkspaceId: null, testWorkspaceId: twin.id });
    const { keys } = (await twin.admin('GET', '/api/keys')).body;
    const [record] = keys.filter(({ mode }: { mode: string }) => mode === 'test');
    expect(record).toMatchObject({ name: 'Tests', prefix: 'svc_test_' });
    const rolled = await twin.admin('POST', `/api/keys/${record._id}/roll`, { overlapHours: 0 });
    expect(rolled.body.key).toMatch(/^svc_test_/);
    expect((await api('GET', '/api/workspace')).status).toBe(401);
    const successor = apiClient(app.url, rolled.body.key);
    expect((await successor('GET', '/api/workspace')).body.workspace._id).toBe(twin.id);
    await twin.admin('DELETE', `/api/keys/${rolled.body._id}`);
    expect((await successor('GET', '/api/workspace')).status).toBe(401);
  });

  it('finds the team of its workspace, which owns the contacts and may be away', async () => {
    const owner = { userId: workspace.ownerId, email: `${workspace.ownerId}@example.test`, isOwner: true };
    for (const path of ['/api/team', '/api/team/members'])
      expect((await api('GET', path)).body.members).toMatchObject([owner]);
    const { body } = await api('POST', '/api/leads', { leads: [{ phone: phone() }] });
    const { lead } = (await api('GET', `/api/leads/${body.leadIds[0]}`)).body;
    expect(lead.contactOwnerEmail).toBe(owner.email);
    const session = await sessionClient(app, { userId: owner.userId, organizationId: workspace.id });
    const inTwin = { 'X-Workspace-Id': twin.id };
    expect(await session('PUT', `/api/team/${owner.userId}/away`, { away: true }, inTwin)).toMatchObject({
      status: 200,
      body: { member: { away: true } },
    });
    expect((await workspace.api('GET', '/api/team')).body.members).toMatchObject([{ away: false }]);

    const invited = async (): Promise<boolean> => {
      const { steps } = (await api('GET', '/api/workspace/setup')).body.setup;
      return steps.find(({ step }: { step: string }) => step === 'team').done;
    };
    expect(await invited()).toBe(false);
    const colleague = newUserId();
    await run(
      sql.fragment`insert into users (id, email) values (${colleague}, ${`${colleague}@example.test`})`,
    );
    await run(sql.fragment`
      insert into workspace_members (workspace_id, user_id, role) values (${workspace.id}, ${colleague}, 'org:member')`);
    expect(await invited()).toBe(true);
  });

  it('acts in a twin that has the name of the workspace, also after it is renamed', async () => {
    await twin.admin('PATCH', '/api/workspace', { name: 'Harbour Homes' });
    const { body } = await api('GET', '/api/workspace');
    expect(body.workspace).toMatchObject({ mode: 'test', name: 'Harbour Homes' });
  });

  it('finds a line of each channel, and adds others that are active at once', async () => {
    const types = async () =>
      (await api('GET', '/api/lines/by-user')).body.lines.map(
        (line: Record<string, string>) => line['requestedChannelType'],
      );
    expect(await types()).toEqual(['imessage', 'sms', 'email']);
    const added = await api('POST', '/api/test/lines', { channelType: 'sms' });
    expect([added.status, added.body.line.provisioningStatus]).toEqual([201, 'active']);
    const requested = await api('POST', '/api/line-requests', { firstName: 'Ada', lastName: 'Byron' });
    expect([requested.status, requested.body.status, requested.body.paymentRequired]).toEqual([
      201,
      'active',
      false,
    ]);
    expect(await types()).toEqual(['imessage', 'sms', 'email', 'sms', 'imessage']);
  });
});

describe('a message in test mode', () => {
  it('is kept instead of sent, and gets its receipts on request', async () => {
    const to = phone();
    const id = await send(to, { message: 'Hello {{ firstName | default: "there" }}' });
    expect(
      (await api('POST', '/api/test/receipts', { messageId: newId(), status: 'delivered' })).status,
    ).toBe(404);
    await until(id, 'sent');
    const { sent } = (await api('GET', `/api/test/sent?to=${encodeURIComponent(to)}`)).body;
    expect(sent).toEqual([expect.objectContaining({ messageId: id, to, text: 'Hello there' })]);
    expect((await api('POST', '/api/test/receipts', { messageId: id, status: 'delivered' })).status).toBe(
      200,
    );
    expect(await statusOf(id)).toBe('delivered');
    await api('POST', '/api/test/receipts', { messageId: id, status: 'read' });
    expect((await api('GET', `/api/messages/${id}`)).body.readAt).not.toBeNull();
    expect(await sentTo(app, to)).toEqual([]);
  });

  it('fails on request, and by its number', async () => {
    const [failing, refused] = [await send(phone()), await send(phone('0002'))];
    const [first] = (await api('GET', '/api/lines/by-user')).body.lines;
    await api('PATCH', `/api/lines/${first._id}`, { minGapSeconds: 0 });
    await until(failing, 'sent');
    await api('POST', '/api/test/receipts', {
      messageId: failing,
      status: 'failed',
      reason: 'no such number',
    });
    expect(await statusOf(failing)).toBe('failed');
    await until(refused, 'failed');
  });

  it('falls back to an SMS that reaches nobody either', async () => {
    const to = phone('0001');
    const id = await send(to, { smsFallbackEnabled: true });
    await until(id, 'fallback');
    await eventually(async () => {
      const { sent } = (await api('GET', `/api/test/sent?to=${encodeURIComponent(to)}`)).body;
      return sent[0]?.channel === 'sms';
    });
  });

  it('counts on the day on which its fallback SMS was sent, by the test clock', async () => {
    const date = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
    await api('POST', '/api/test/clock', { to: `${date}T12:00:00Z` });
    const [refused, failed] = [phone('0001'), phone()];
    await send(refused, { smsFallbackEnabled: true });
    const id = await send(failed, { sendFallbackSmsOnFailed: true });
    const [first] = (await api('GET', '/api/lines/by-user')).body.lines;
    await api('PATCH', `/api/lines/${first._id}`, { minGapSeconds: 0 });
    await until(id, 'sent');
    await api('POST', '/api/test/receipts', { messageId: id, status: 'failed' });
    await eventually(async () => {
      const { sent } = (await api('GET', '/api/test/sent')).body;
      return sent.filter(({ channel }: { channel: string }) => channel === 'sms').length === 2;
    });
    await eventually(async () => {
      const { body } = await api('GET', `/api/analytics/conversations?date=${date}&timezone=UTC`);
      return body.total === 2;
    });
    const { conversations } = (await api('GET', '/api/conversations')).body;
    for (const { lastAt } of conversations) expect(lastAt.slice(0, 10)).toBe(date);
    expect(conversations).toHaveLength(2);
  });

  it('is announced by signed webhooks', async () => {
    const endpoint = await startTestEndpoint();
    const { secret } = await registerWebhook(api, endpoint.url, {
      events: ['message.sent', 'message.reply'],
    });
    const to = phone();
    const id = await send(to);
    await until(id, 'sent');
    await api('POST', '/api/test/inbound', { from: to, text: 'Yes' });
    await eventually(async () => endpoint.received.length === 2);
    for (const received of endpoint.received) verify(received, secret);
    expect(endpoint.received.map(({ json }) => [json.event, json.workspaceId])).toEqual([
      ['message.sent', twin.id],
      ['message.reply', twin.id],
    ]);
  });
});

describe('a message from a contact in test mode', () => {
  it('arrives at the line that wrote to them, and counts as theirs', async () => {
    const to = phone();
    await until(await send(to), 'sent');
    const [sent] = (await api('GET', `/api/test/sent?to=${encodeURIComponent(to)}`)).body.sent;
    const { status, body } = await api('POST', '/api/test/inbound', { from: to, text: 'Tell me more' });
    expect([status, body.lineId]).toEqual([200, sent.lineId]);
    const { replies } = (await api('GET', '/api/replies')).body;
    expect(replies).toHaveLength(1);
    await api('POST', '/api/test/inbound', { from: to, text: 'STOP' });
    const id = await send(to);
    await until(id, 'failed');
    expect((await api('GET', `/api/messages/${id}`)).body.errorMessage).toBe('recipient_opted_out');
  });

  it('can be written to a group, which is answered like one', async () => {
    const [ada, ben, cleo] = [phone(), phone(), phone()];
    const write = (from: string, others: string[], fields: object = {}) =>
      api('POST', '/api/test/inbound', { from, text: 'Hi all', group: { participants: others }, ...fields });
    const { status, body } = await write(ada, [ben]);
    expect([status, (await write(ben, [ada])).status]).toEqual([200, 200]);
    const { conversations } = (await api('GET', '/api/conversations')).body;
    expect(conversations[0]).toMatchObject({
      group: { participants: [ada, ben].toSorted() },
      unreadCount: 2,
    });
    const groupId = conversations[0].group.id;
    const reply = await api('POST', '/api/inbox/send-reply', { groupId, message: 'Hi both' });
    await until(reply.body._id, 'sent');
    await write(ada, [ben], { lineId: body.lineId });
    const { messages } = (await api('GET', `/api/conversations/group:${groupId}`)).body;
    expect(messages.map(({ direction }: { direction: string }) => direction)).toEqual([
      'in',
      'out',
      'in',
      'in',
    ]);

    const { group } = (
      await api('POST', '/api/conversations/groups', {
        fromLineId: body.lineId,
        recipients: [ada, cleo],
        message: 'Hi two',
      })
    ).body;
    await write(cleo, [ada]);
    expect((await api('GET', '/api/conversations')).body.conversations[0].group.id).toBe(group.id);
    expect(await write(ada, [ben], { channel: 'sms' })).toMatchObject({
      status: 409,
      body: { code: 'UNSUPPORTED_BY_CARRIER', capability: 'groups' },
    });
  });

  it.each([
    ['group.participants.0', { from: '+14155550100', text: 'Hi', group: { participants: ['Ben'] } }],
    ['from', { from: 'Ada', text: 'Hi' }],
    ['to', { from: '+14155550100', to: 'nowhere', text: 'Hi' }],
    ['to', { from: '+14155550100', to: '+14155550101', lineId: newId(), text: 'Hi' }],
  ])('names the field %s that is not valid', async (path, input) => {
    const { status, body } = await api('POST', '/api/test/inbound', input);
    expect([status, body.issues?.[0]?.path]).toEqual([400, path]);
  });

  it('arrives once per idempotency key', async () => {
    const input = { from: phone(), text: 'Hi' };
    const write = () => api('POST', '/api/test/inbound', input, { 'idempotency-key': 'a retry' });
    const [first, again] = [await write(), await write()];
    expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([
      200,
      first.body,
      'true',
    ]);
    const { messages } = (await api('GET', `/api/conversations/${encodeURIComponent(input.from)}`)).body;
    expect(messages).toHaveLength(1);
  });

  it('needs a line that there is', async () => {
    const input = { from: '+14155550100', lineId: newId(), text: 'Hi' };
    expect((await api('POST', '/api/test/inbound', input)).status).toBe(404);
  });
});

describe('the phone of a contact in test mode', () => {
  const act = (kind: string, messageId: string, fields: object = {}) =>
    api('POST', '/api/test/actions', { kind, messageId, ...fields });
  const thread = async (address: string) =>
    (await api('GET', `/api/conversations/${encodeURIComponent(address)}`)).body.messages;
  const shown = async (contact: string) =>
    (await api('GET', `/api/test/phone?contact=${encodeURIComponent(contact)}`)).body;
  const write = async (from: string, fields: object = {}): Promise<string> =>
    (await api('POST', '/api/test/inbound', { from, text: 'Tell me more', ...fields })).body.replyId;

  it('reacts, answers one message, edits and unsends, as carriers report it', async () => {
    const to = phone();
    const [first, second] = [await send(to), await send(to)];
    await Promise.all([first, second].map((id) => until(id, 'sent')));
    expect((await act('reaction', second, { reaction: 'love' })).body).toEqual({ success: true });
    const [, , written] = [
      await act('reaction', first, { reaction: 'emoji', emoji: '🎉' }),
      await act('reaction', first, { reaction: 'emoji', emoji: '🎉', remove: true }),
      await write(to, { replyToMessageId: first }),
    ];
    expect(await thread(to)).toMatchObject([
      { messageId: written, replyToMessageId: first, message: 'Tell me more', editedAt: null },
      { messageId: second, reactions: [{ by: 'contact', reaction: 'love', from: to }] },
      { messageId: first, reactions: [] },
    ]);
    await act('edit', written, { text: 'STOP' });
    expect((await thread(to))[0]).toMatchObject({ message: 'STOP', editedAt: expect.any(String) });
    expect((await api('GET', `/api/opt-outs?address=${encodeURIComponent(to)}`)).body.optOuts).toHaveLength(
      1,
    );
    await act('unsend', written);
    expect((await thread(to))[0]).toMatchObject({ message: '', unsentAt: expect.any(String) });
    expect((await act('edit', written, { text: 'Hi' })).body.code).toBe('INVALID_STATE');
  });

  it('shows that somebody types, and that messages were read', async () => {
    const from = phone();
    const messageId = await write(from);
    const path = `/api/conversations/${encodeURIComponent(from)}`;
    const { lineId } = (await thread(from))[0];
    await api('PATCH', `/api/lines/${lineId}`, { readReceipts: 'on_reply' });
    expect(await shown(from)).toEqual({ success: true, typing: false, read: null });
    await api('POST', `${path}/typing`, { state: 'on' });
    await eventually(async () => (await shown(from)).typing);
    await api('POST', `${path}/typing`, { state: 'off' });
    await eventually(async () => !(await shown(from)).typing);
    await api('POST', '/api/inbox/send-reply', { phone: from, message: 'Gladly' });
    const { read } = await eventually(async () => {
      const now = await shown(from);
      return now.read !== null && now;
    });
    expect(read.messageId).toBe(messageId);
  });

  it('types, which the stream shows', async () => {
    const from = phone();
    await write(from);
    const stream = await openEventStream(app.url, twin.key, { query: '?presence=true' });
    const type = (state: string) => api('POST', '/api/test/actions', { kind: 'typing', from, state });
    expect([(await type('on')).status, (await type('off')).status]).toEqual([200, 200]);
    const told = () => stream.events.filter(({ event }) => event === 'conversation.typing');
    await eventually(async () => told().length === 2);
    const about = { workspaceId: twin.id, address: from };
    expect(told().map(({ data }) => JSON.parse(data))).toMatchObject([
      { ...about, state: 'on' },
      { ...about, state: 'off' },
    ]);
    stream.close();
  });

  it('does what its line can do, and only to what its contact has', async () => {
    const to = phone();
    const [sent, waiting] = [
      await send(to),
      await send(to, { scheduledDate: new Date(Date.now() + 86_400_000) }),
    ];
    await until(sent, 'sent');
    const bySms = await write(phone(), { channel: 'sms' });
    const answers = [
      await act('edit', bySms, { text: 'Hi' }),
      await act('unsend', bySms),
      await act('edit', sent, { text: 'Hi' }),
      await act('reaction', bySms, { reaction: 'love' }),
      await act('reaction', waiting, { reaction: 'love' }),
      await act('reaction', newId(), { reaction: 'love' }),
      await act('reaction', sent, { reaction: 'emoji' }),
      await api('POST', '/api/test/inbound', { from: to, text: 'Hi', replyToMessageId: waiting }),
      await api('POST', '/api/test/inbound', { from: to, text: 'Hi', replyToMessageId: bySms }),
      await act('typing', '', { from: 'Ada', state: 'on' }),
      await api('GET', '/api/test/phone?contact=Ada'),
    ];
    expect(answers.map(({ body }) => body.capability ?? body.issues?.[0]?.path ?? body.code)).toEqual([
      'edit',
      'unsend',
      'INVALID_STATE',
      'INVALID_STATE',
      'INVALID_STATE',
      'NOT_FOUND',
      'emoji',
      'INVALID_STATE',
      'replies',
      'from',
      'contact',
    ]);
  });
});

describe('live and test mode', () => {
  it('refuse each other’s endpoints', async () => {
    const inTest = await workspace.api('POST', '/api/test/lines', { channelType: 'sms' });
    expect([inTest.status, inTest.body.code]).toEqual([403, 'TEST_MODE_ONLY']);
    // Whatever is wrong with the request.
    const invalid = await workspace.api('GET', '/api/test/sent?limit=0');
    expect([invalid.status, invalid.body.code]).toEqual([403, 'TEST_MODE_ONLY']);
    const [line] = (await api('GET', '/api/lines/by-user')).body.lines;
    const config = { url: 'https://mac.example', password: 'x' };
    const connected = await api('PUT', `/api/lines/${line._id}/carrier`, { provider: 'bluebubbles', config });
    expect([connected.status, connected.body.code]).toEqual([403, 'LIVE_MODE_ONLY']);
    const invited = await api('POST', '/api/team/invite', { email: 'noor@example.test', role: 'org:member' });
    expect([invited.status, invited.body.code]).toEqual([403, 'LIVE_MODE_ONLY']);
    const { carriers } = (await api('GET', '/api/lines/carriers')).body;
    expect(carriers.map(({ provider }: { provider: string }) => provider)).not.toContain('test');
  });

  it('exchange no carrier in the database', async () => {
    await expect(createLine(app, twin.id, 'imessage', { carrier: 'simulated' })).rejects.toThrow(
      /integrity constraint|carrier/,
    );
    await expect(createLine(app, workspace.id, 'imessage', { carrier: 'test' })).rejects.toThrow(
      /integrity constraint|carrier/,
    );
    const [line] = (await api('GET', '/api/lines/by-user')).body.lines;
    await expect(
      run(sql.fragment`update lines set carrier = 'twilio' where id = ${line._id}`),
    ).rejects.toThrow(/integrity constraint|carrier/);
  });

  it('are switched by members in their sessions, and by nobody else', async () => {
    const inTwin = { 'x-workspace-id': twin.id };
    const { body } = await twin.admin('GET', '/api/workspace', undefined, inTwin);
    expect([body.workspace.mode, body.caller.role]).toEqual(['test', 'org:admin']);
    const keys = await twin.admin('GET', '/api/keys', undefined, inTwin);
    expect([keys.status, keys.body.code]).toEqual([403, 'LIVE_MODE_ONLY']);
    const opened = await twin.admin('POST', '/api/workspace/test-mode', {});
    expect(opened.body.workspaceId).toBe(twin.id);
    const stranger = await createWorkspace(app);
    const session = await sessionClient(app, {
      userId: stranger.ownerId,
      organizationId: stranger.id,
      role: 'org:admin',
    });
    expect((await session('GET', '/api/workspace', undefined, inTwin)).body.code).toBe('WORKSPACE_NOT_FOUND');
    const nobody = apiClient(
      app.url,
      await signIn(app, { userId: newUserId(), organizationId: workspace.id, role: 'org:member' }),
    );
    expect((await nobody('GET', '/api/workspace', undefined, inTwin)).status).toBe(401);
    expect((await workspace.api('GET', '/api/workspace', undefined, inTwin)).status).toBe(404);
  });

  it('are one client of an agency, whose users may act in both', async () => {
    const agency = await createAgency(app);
    const client = await createWorkspace(app, { agency_id: agency.id });
    const test = await openTestMode(app, client);
    const { body } = await agency.api('GET', '/api/agency/subaccounts');
    expect(body.subAccounts.map((one: Record<string, string>) => one['idpOrgId'])).toEqual([client.id]);
    expect((await agency.api('GET', '/api/agency/lines')).body.lines).toEqual([]);
    const owner = await sessionClient(app, { userId: agency.ownerId, organizationId: null, role: null });
    const inTwin = await owner('GET', '/api/workspace', undefined, { 'x-workspace-id': test.id });
    expect(inTwin.body.workspace._id).toBe(test.id);
  });
});

test('messages in test mode are limited in number, and kept for 30 days', async () => {
  const to = phone();
  const id = await send(to);
  await until(id, 'sent');
  await api('POST', '/api/test/inbound', { from: to, text: 'Hi' });
  await run(sql.fragment`insert into messages (workspace_id, id, channel, status, address, body, scheduled_at, source)
    select workspace_id, lpad(to_hex(n), 24, '0'), channel, 'canceled', address, '', now(), source
    from messages, generate_series(1, 9999) n where id = ${id} returning null`);
  const full = await api('POST', '/api/messages', { recipientPhone: to, message: 'One more' });
  expect([full.status, full.body.code, full.body.limit, full.body.max]).toEqual([
    409,
    'LIMIT_REACHED',
    'testMessages',
    10_000,
  ]);
  await run(
    sql.fragment`delete from messages where id <> ${id} and id > lpad(to_hex(9990), 24, '0') returning null`,
  );
  const { list } = (await api('POST', '/api/lists', { name: 'Eight' })).body;
  const leads = Array.from({ length: 8 }, () => ({ phone: phone() }));
  await api('POST', '/api/leads', { leads, listId: list._id });
  const steps = [{ message: 'Hello' }, { message: 'Hello again' }];
  const campaign = { name: 'Sixteen messages', steps, listId: list._id };
  const tooLarge = await api('POST', '/api/campaigns', { ...campaign, start: true });
  expect([tooLarge.status, tooLarge.body.code, tooLarge.body.limit]).toEqual([
    409,
    'LIMIT_REACHED',
    'testMessages',
  ]);
  const draft = (await api('POST', '/api/campaigns', campaign)).body.campaign;
  expect((await api('POST', `/api/campaigns/${draft._id}/start`)).status).toBe(409);
  for (const table of ['messages', 'inbound_messages'] as const)
    await run(sql.fragment`update ${sql.identifier([table])}
      set ${sql.identifier([table === 'messages' ? 'updated_at' : 'created_at'])} = now() - interval '31 days'
      where workspace_id = ${twin.id}`);
  await runRetention(app);
  expect((await api('GET', '/api/messages')).body.messages).toEqual([]);
  expect((await api('GET', '/api/test/sent')).body.sent).toEqual([]);
  expect((await api('GET', '/api/replies')).body.replies).toEqual([]);
  await until(await send(phone()), 'sent');
});
