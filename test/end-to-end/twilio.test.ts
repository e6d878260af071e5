import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/ids.ts';
import { sealConfig } from '#providers/carriers/secret-config.ts';
import { TwilioConfig } from '#providers/carriers/twilio.ts';
import { createSecretBox, secretContext } from '#providers/secret-box.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

const ACCOUNT = { sid: 'AC00000000000000000000000000000001', authToken: 'the-token-of-the-account' };

let twilio: TwilioStandIn;
let app: TestApp;

beforeAll(async () => {
  twilio = await startTwilio(ACCOUNT);
  app = await startTestApp({ environment: { TWILIO_API_URL: twilio.url } });
});
afterAll(async () => {
  await app.stop();
  await twilio.stop();
});

const at = (to: string) => twilio.sent.filter((message) => message.to === to);

async function send(call: ApiClient, fields: object, until: (message: { status: string }) => boolean) {
  const { status, body } = await call('POST', '/api/messages', { message: 'Hello', ...fields });
  expect(status).toBe(201);
  return eventually(async () => {
    const found = await call('GET', `/api/messages/${body._id}`);
    return until(found.body) && found.body;
  });
}

async function withFallback() {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const call = apiClient(app.url, workspace.key);
  const account = { accountSid: ACCOUNT.sid, authToken: ACCOUNT.authToken, fromNumber: '+14155550100' };
  await call('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'twilio', ...account });
  return { call, callbackUrl: `${app.url}/callbacks/carriers/twilio/${lineId}` };
}

it("sends fallback SMS by the workspace's account, and believes that account's callbacks about a line elsewhere", async () => {
  const { call, callbackUrl } = await withFallback();
  const to = phone('0001');
  twilio.quiet = true;
  await send(call, { recipientPhone: to, smsFallbackEnabled: true }, ({ status }) => status === 'fallback');
  const [sms] = await eventually(async () => at(to).length > 0 && at(to));
  expect(sms).toMatchObject({ from: '+14155550100', body: 'Hello', statusCallback: callbackUrl });
  if (!sms) throw new Error('no SMS');
  expect(await twilio.tell(sms, 'delivered')).toBe(200);

  const answer = await twilio.receive(callbackUrl, {
    MessageSid: 'SM1',
    From: to,
    To: '+14155550100',
    Body: 'No, thanks',
  });
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
    200,
    'text/xml; charset=utf-8',
    '<Response/>',
  ]);
  const { body } = await call('GET', '/api/replies');
  expect(JSON.stringify(body.replies)).toContain('No, thanks');

  const { headers, body: form } = twilio.sign(callbackUrl, { MessageSid: 'SM2', From: to, Body: 'Forged' });
  const forged = await fetch(callbackUrl, {
    method: 'POST',
    headers,
    body: form.replace('Forged', 'Changed'),
  });
  expect(forged.status).toBe(401);
});

it('never writes again to a number of which Twilio knows the STOP, however it says so', async () => {
  const { call } = await withFallback();
  twilio.quiet = true;
  const [late, atOnce] = [phone('0001'), phone('0001')];
  twilio.fault(atOnce, { kind: 'error', status: 400, code: 21610 });
  for (const recipientPhone of [late, atOnce]) {
    await send(call, { recipientPhone, smsFallbackEnabled: true }, ({ status }) => status === 'fallback');
  }
  const [sms] = await eventually(async () => at(late).length > 0 && at(late));
  if (!sms) throw new Error('no SMS');
  await eventually(async () => (await twilio.tell(sms, 'failed', { ErrorCode: '21610' })) === 200);
  for (const address of [late, atOnce]) {
    await eventually(async () => JSON.stringify((await call('GET', '/api/opt-outs')).body).includes(address));
  }
});

it('is not there for a line that has nothing to do with Twilio', async () => {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id);
  const answer = await twilio.receive(`${app.url}/callbacks/carriers/twilio/${lineId}`, {
    MessageSid: 'SM1',
    From: '+1',
  });
  expect(answer.status).toBe(404);
});

it('sends and receives by a line of its own, and sends once when the answer is lost', async () => {
  const workspace = await createWorkspace(app);
  const id = newId();
  const context = secretContext('line', workspace.id, id);
  const settings = { accountSid: ACCOUNT.sid, authToken: ACCOUNT.authToken, from: '+14155550111' };
  const secrets = createSecretBox(app.config.encryptionKeys);
  const config = sealConfig(TwilioConfig, settings, (plain) => secrets.seal(plain, context));
  await createLine(app, workspace.id, 'sms', {
    id,
    carrier: 'twilio',
    carrier_config: JSON.stringify(config),
  });
  const call = apiClient(app.url, workspace.key);
  const [ordinary, lost] = [phone(), phone()];
  twilio.quiet = false;
  twilio.fault(lost, { kind: 'answer_lost' });
  for (const recipientPhone of [ordinary, lost]) {
    await send(call, { recipientPhone, messageType: 'sms' }, ({ status }) => status === 'delivered');
    expect(at(recipientPhone)).toHaveLength(1);
  }
});
