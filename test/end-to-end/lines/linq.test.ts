import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LinqStandIn, startLinq } from '#simulator/linq.ts';
import { eventually, sharedApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let linq: LinqStandIn;
beforeAll(async () => {
  linq = await startLinq('the-token');
});
afterAll(() => linq.stop());

/** A line of a new workspace. */
async function connect() {
  const app = await sharedApp();
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const call = apiClient(app.url, workspace.key);
  const { body: shown } = await call('GET', `/api/lines/${lineId}`);
  const fromNumber: string = shown.line.phone;
  linq.numbers.clear();
  linq.numbers.add(fromNumber);
  const connected = await call('PUT', `/api/lines/${lineId}/carrier`, {
    provider: 'linq',
    config: { apiKey: 'the-token', fromNumber, baseUrl: linq.url },
  });
  return { call, lineId, fromNumber, connected };
}

test('a line at Linq sends once though a response is lost, is answered, reacts and edits', async () => {
  const { call, fromNumber, connected } = await connect();
  expect(connected).toMatchObject({ status: 200, body: { connection: { callbackRegistered: true } } });
  expect(JSON.stringify(connected.body)).not.toContain('the-token');

  const send = async (recipientPhone: string, status: string) => {
    const { body } = await call('POST', '/api/messages', {
      recipientPhone,
      message: 'Hello',
      effect: 'slam',
    });
    return eventually(async () => {
      const found = (await call('GET', `/api/messages/${body._id}`)).body;
      return found.status === status && found;
    });
  };
  const [reached, lost, android] = [phone('0001'), phone('0001'), phone('0001')];
  linq.fault(lost, { kind: 'response_lost', times: 2 });
  linq.withoutIMessage(android);
  const sent = await send(reached, 'delivered');
  await send(lost, 'delivered');
  await send(android, 'fallback');
  const sentTo = (number: string) => linq.sent.filter(({ to }) => to === number);
  expect(sentTo(reached)).toMatchObject([{ text: 'Hello', effect: { type: 'bubble', name: 'slam' } }]);
  expect(sentTo(lost)).toHaveLength(1);
  expect(sentTo(android)).toHaveLength(0);

  const written = await linq.report('message.received', {
    id: 'from-the-contact',
    chat: { id: sentTo(reached)[0]?.chatId, is_group: false, owner_handle: { handle: fromNumber } },
    direction: 'inbound',
    sender_handle: { handle: reached },
    parts: [{ type: 'text', value: 'Yes, please' }],
  });
  expect(written).toEqual([200]);
  const { replies } = (await call('GET', '/api/replies')).body;
  expect(replies).toMatchObject([{ recentReplies: [{ message: 'Yes, please' }] }]);
  const reacted = await call('POST', `/api/messages/${replies[0].messageId}/reactions`, { reaction: 'love' });
  expect(reacted.status).toBe(202);
  expect((await call('PATCH', `/api/messages/${sent._id}`, { message: 'Hello again' })).status).toBe(202);
  await eventually(async () => {
    const paths = linq.actions.map(({ method, path }) => `${method} ${path}`);
    return (
      paths.includes('POST /v3/messages/from-the-contact/reactions') &&
      paths.includes(`PATCH /v3/messages/${sentTo(reached)[0]?.id}`)
    );
  });

  const { url } = linq.subscriptions[0] ?? { url: '' };
  const forged = await fetch(url.replace(/secret=[^&]*/, 'secret=wrong'), { method: 'POST', body: '{}' });
  expect(forged.status).toBe(401);
});

test('what somebody types at Linq is in the conversation once, and what was sent through us is not there twice', async () => {
  const { call, lineId, fromNumber } = await connect();
  const to = phone('0001');
  await call('POST', '/api/messages', { recipientPhone: to, message: 'Hello' });
  const thread = async (): Promise<{ message: string; messageId: string }[]> =>
    (await call('GET', `/api/conversations/${to}`)).body.messages ?? [];
  await eventually(async () => linq.sent.some((one) => one.to === to && one.status === 'delivered'));
  const chat = linq.sent.find((one) => one.to === to);
  const typed = (id: string, text: string, more: object = {}) =>
    linq.report('message.sent', {
      id,
      chat: { id: chat?.chatId, is_group: false, owner_handle: { handle: fromNumber } },
      direction: 'outbound',
      sender_handle: { handle: fromNumber, is_me: true },
      parts: [{ type: 'text', value: text }],
      ...more,
    });
  for (let n = 0; n < 2; n += 1) await typed('typed-at-linq', 'I will call you at four');
  await typed('of-another-program', 'Sent by the API', { idempotency_key: 'another-program' });
  await eventually(async () => (await thread()).length > 1);
  const [last, first, ...others] = await thread();
  expect([last?.message, first?.message, others]).toEqual(['I will call you at four', 'Hello', []]);
  expect((await call('GET', `/api/messages/${last?.messageId}`)).body.source).toBe('device');
  const line = (await call('GET', `/api/lines/${lineId}`)).body.line;
  expect(line.usage.totalMessages).toBe(2);
});

test('a line whose webhook subscription is removed can send and not receive, and says so until it is back', async () => {
  const { call, lineId, fromNumber } = await connect();
  const check = async () => (await call('GET', `/api/lines/check-availability?id=${lineId}`)).body;
  const shown = async () => (await call('GET', `/api/lines/${lineId}`)).body.line.healthCheck;
  expect(await check()).toMatchObject({ status: 'healthy', failures: [] });
  const removed = linq.subscriptions.splice(0);
  const failure = 'Linq does not report replies to this line: connect it again.';
  expect(await check()).toMatchObject({
    status: 'degraded',
    failures: [{ check: 'callback', error: failure }],
  });
  expect(await shown()).toMatchObject({ inbox: { reason: failure } });
  expect(removed.length).toBeGreaterThan(0);
  const config = { apiKey: 'the-token', fromNumber, baseUrl: linq.url };
  expect((await call('PUT', `/api/lines/${lineId}/carrier`, { provider: 'linq', config })).status).toBe(200);
  expect(await shown()).not.toHaveProperty('inbox');
  expect(await check()).toMatchObject({ status: 'healthy', failures: [] });
});

test('a group at Linq is created, answered by everybody, and its participants are asked for', async () => {
  const { call, lineId, fromNumber } = await connect();
  const [ada, ben] = [phone(), phone()];
  linq.fault(ada, { kind: 'response_lost', times: 2 });
  const { status, body } = await call('POST', '/api/conversations/groups', {
    fromLineId: lineId,
    recipients: [ada, ben],
    message: 'Shall we meet?',
  });
  expect(status).toBe(201);
  const delivered = (id: string) =>
    eventually(async () => (await call('GET', `/api/messages/${id}`)).body.status === 'delivered');
  await delivered(body._id);
  const inGroup = () => linq.sent.filter(({ recipients }) => recipients.includes(ben));
  const [first] = inGroup();
  expect(inGroup()).toMatchObject([{ text: 'Shall we meet?', recipients: [ada, ben] }]);

  const writes = (chatId: string, from: string, text: string) =>
    linq.report('message.received', {
      id: text,
      chat: { id: chatId, is_group: true, owner_handle: { handle: fromNumber } },
      direction: 'inbound',
      sender_handle: { handle: from },
      parts: [{ type: 'text', value: text }],
    });
  expect(await writes(first?.chatId ?? '', ben, 'Gladly')).toContain(200);
  const thread = async () =>
    (await call('GET', `/api/conversations/${encodeURIComponent(`group:${body.groupId}`)}`)).body;
  expect(await thread()).toMatchObject({
    conversation: { group: { name: null, participants: [ada, ben] } },
    messages: [{ message: 'Gladly', participant: ben }, { message: 'Shall we meet?' }],
  });
  const answer = { groupId: body.groupId, message: 'Monday' };
  await delivered((await call('POST', '/api/inbox/send-reply', answer)).body._id);
  expect(inGroup()).toMatchObject([{}, { text: 'Monday', chatId: first?.chatId }]);
});
