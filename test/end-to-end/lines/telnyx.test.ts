import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTelnyx, type TelnyxStandIn } from '#simulator/telnyx.ts';
import { eventually, sharedApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let telnyx: TelnyxStandIn;
beforeAll(async () => {
  telnyx = await startTelnyx('KEY1');
});
afterAll(() => telnyx.stop());

test('a line at Telnyx sends, is answered, hears of late failures, and lets nobody forge that', async () => {
  const app = await sharedApp();
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id, 'sms');
  const call = apiClient(app.url, workspace.key);
  const line: string = (await call('GET', `/api/lines/${lineId}`)).body.line.phone;
  telnyx.numbers.set(line, 'profile-1');
  const connected = await call('PUT', `/api/lines/${lineId}/carrier`, {
    provider: 'telnyx',
    config: { apiKey: 'KEY1', publicKey: telnyx.publicKey, baseUrl: telnyx.url },
  });
  expect(connected).toMatchObject({
    status: 200,
    body: { connection: { provider: 'telnyx', callbackRegistered: false } },
  });
  expect(JSON.stringify(connected.body)).not.toContain('KEY1');
  const { callbackUrl } = connected.body.connection;

  const send = async (recipientPhone: string, until: (message: Record<string, unknown>) => boolean) => {
    const { body } = await call('POST', '/api/messages', {
      recipientPhone,
      message: 'Hello',
      messageType: 'sms',
    });
    return eventually(async () => {
      const found = (await call('GET', `/api/messages/${body._id}`)).body;
      return until(found) && found;
    });
  };
  const [reached, landline] = [phone('0001'), phone('0001')];
  await send(reached, ({ status }) => status === 'delivered');
  expect(telnyx.sent.filter(({ to }) => to === reached)).toMatchObject([{ from: line, text: 'Hello' }]);

  telnyx.fault(landline, { kind: 'error_later', code: '40001', title: 'Not routable' });
  await send(landline, (message) => JSON.stringify(message).includes('Not routable'));

  const long = { recipientPhone: phone('0001'), message: 'ж'.repeat(700), messageType: 'sms' };
  const warned = await call('POST', '/api/messages', long);
  expect(warned.status).toBe(201);
  expect(warned.body.warnings).toContainEqual(expect.objectContaining({ code: 'sms_too_long' }));
  await eventually(async () => {
    const { status, errorMessage } = (await call('GET', `/api/messages/${warned.body._id}`)).body;
    return status === 'failed' && errorMessage === '40302: Message too large';
  });

  const reply = { from: reached, to: line, text: 'Yes, please' };
  expect((await telnyx.receive(callbackUrl, reply)).status).toBe(200);
  expect(
    (await telnyx.receive(callbackUrl, { ...reply, text: 'Adios', autoresponse_type: 'STOP' })).status,
  ).toBe(200);
  expect(JSON.stringify((await call('GET', '/api/replies')).body)).toContain('Yes, please');
  expect((await call('GET', '/api/opt-outs')).body.optOuts).toMatchObject([{ address: reached }]);

  const rule = { name: 'Missed', on: 'missed_call', do: [{ reply: { text: 'Sorry we missed you' } }] };
  expect((await call('POST', '/api/rules', rule)).status).toBe(201);
  const [missed, answered] = [phone('0001'), phone('0001')];
  await telnyx.call(callbackUrl, { from: answered, to: line, isAnswered: true });
  await telnyx.call(callbackUrl, { from: missed, to: line, isAnswered: false });
  await eventually(async () =>
    telnyx.sent.some(({ to, text }) => to === missed && text === rule.do[0]?.reply.text),
  );
  expect(telnyx.sent.filter(({ to }) => to === answered)).toEqual([]);
  const calls = (await call('GET', `/api/voice/recordings?number=${encodeURIComponent(line)}`)).body.calls;
  expect(calls).toMatchObject([
    { from: missed, to: line, status: 'failed', hangupCause: 'originator_cancel' },
    {
      from: answered,
      to: line,
      status: 'billed',
      hangupCause: 'normal_clearing',
      durationSec: expect.any(Number),
    },
  ]);

  const body = JSON.stringify({ data: { event_type: 'message.received', payload: {} } });
  const forged = { ...telnyx.sign(body), 'telnyx-signature-ed25519': Buffer.alloc(64).toString('base64') };
  expect((await fetch(callbackUrl, { method: 'POST', headers: forged, body })).status).toBe(401);
});
