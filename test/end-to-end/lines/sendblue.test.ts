import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSendblue, type SendblueStandIn } from '#simulator/sendblue.ts';
import { eventually, sharedApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { openEventStream } from '#test/support/event-stream.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let sendblue: SendblueStandIn;
beforeAll(async () => {
  sendblue = await startSendblue({ id: 'the-id', secret: 'the-key' });
});
afterAll(() => sendblue.stop());

test('a line at Sendblue sends once though a response is lost, is answered, reacts and types', async () => {
  const app = await sharedApp();
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const call = apiClient(app.url, workspace.key);
  const { body: shown } = await call('GET', `/api/lines/${lineId}`);
  const fromNumber: string = shown.line.phone;
  sendblue.lines.set(fromNumber, 'ONLINE');
  const connected = await call('PUT', `/api/lines/${lineId}/carrier`, {
    provider: 'sendblue',
    config: { apiKeyId: 'the-id', apiSecretKey: 'the-key', fromNumber, baseUrl: sendblue.url },
  });
  expect(connected).toMatchObject({ status: 200, body: { connection: { callbackRegistered: true } } });
  expect(JSON.stringify(connected.body)).not.toContain('the-key');

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
  sendblue.fault(lost, { kind: 'response_lost' });
  sendblue.withoutIMessage(android);
  await send(reached, 'delivered');
  await send(lost, 'delivered');
  await send(android, 'fallback');
  const sentTo = (to: string) => sendblue.sent.filter(({ number }) => number === to);
  expect(sentTo(reached)).toMatchObject([{ content: 'Hello', sendStyle: 'slam', fromNumber }]);
  expect(sentTo(lost)).toHaveLength(1);
  expect(sentTo(android)).toHaveLength(0);

  expect(await sendblue.write({ from: reached, to: fromNumber, content: 'Yes, please' })).toEqual([200]);
  const { replies } = (await call('GET', '/api/replies')).body;
  expect(replies).toMatchObject([{ recentReplies: [{ message: 'Yes, please' }] }]);
  const reacted = await call('POST', `/api/messages/${replies[0].messageId}/reactions`, { reaction: 'love' });
  expect(reacted.status).toBe(202);
  expect((await call('POST', `/api/conversations/${reached}/typing`, { state: 'on' })).status).toBe(202);
  await eventually(async () => {
    const kinds = sendblue.actions.map(({ kind }) => kind);
    return kinds.includes('reaction') && kinds.includes('typing');
  });

  await sendblue.type({ from: fromNumber, to: reached, content: 'I will call you at four' });
  const thread = (await call('GET', `/api/conversations/${reached}`)).body.messages;
  expect(thread.map(({ message }: { message: string }) => message)).toEqual([
    'I will call you at four',
    'Yes, please',
    'Hello',
  ]);
  expect((await call('GET', `/api/messages/${thread[0].messageId}`)).body.source).toBe('device');
  for (const to of [lost, android])
    expect((await call('GET', `/api/conversations/${to}`)).body.messages).toHaveLength(1);

  const stream = await openEventStream(app.url, workspace.key, { query: '?presence=true' });
  const typing = { from: reached, to: fromNumber, isTyping: true };
  expect(await sendblue.startTyping(typing)).toEqual([200]);
  await eventually(async () => stream.events.some(({ event }) => event === 'conversation.typing'));
  stream.close();

  const { url } = sendblue.receive[0] ?? { url: '' };
  const forged = await fetch(url.replace(/secret=.*/, 'secret=wrong'), { method: 'POST', body: '{}' });
  expect(forged.status).toBe(401);
});
