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
