import assert from 'node:assert/strict';
import { newId } from '#domain/base/ids.ts';
import type { Carrier, NumberChoice } from '#providers/carriers/carrier.ts';
import { twilioCarrier } from '#providers/carriers/twilio/twilio.ts';
import { twilioOperatorCarrier } from '#providers/carriers/twilio/operator.ts';
import { startTwilio } from '#simulator/twilio.ts';
import { type SentRequest, startRecorder } from './openapi-contract.ts';
import { TWILIO_ACCOUNT } from './twilio.ts';

const [NUMBER, TO] = ['+14155550111', '+14155550123'];
const SERVICE = `MG${'0'.repeat(31)}1`;
const APP = `AP${'0'.repeat(31)}1`;
const CALLBACK = 'https://linepace.example/callbacks/carriers/twilio/0123456789abcdef01234567';
const never = new AbortController().signal;

const message = (fields: object = {}) => ({
  attemptId: newId(),
  messageId: newId(),
  lineId: newId(),
  channel: 'sms' as const,
  from: { address: NUMBER, name: '' },
  to: { address: TO, name: null },
  text: 'Grüße & more: 100 % + “quotes” 🎉\nand lines',
  attachments: [],
  callbackUrl: CALLBACK,
  ...fields,
});
const attempt = (text: string) => ({
  attemptId: newId(),
  lineId: newId(),
  channel: 'sms' as const,
  from: NUMBER,
  to: TO,
  startedAt: new Date(),
  startedBy: new Date(),
  text,
  attachmentCount: 0,
  takenIds: [],
});

async function checkConnection<Config>(carrier: Carrier<Config>, config: Config): Promise<string[]> {
  const results: string[] = [];
  for await (const { result } of carrier.checkConnection(config, {
    lineId: null,
    address: NUMBER,
    callbackUrl: CALLBACK,
    reachCallbacks: async () => ({ result: 'pass', text: 'It answers.' }),
  }))
    results.push(result);
  return results;
}

/** All kinds of requests that are made to Twilio, as the adapters make them. */
export async function recordTwilioRequests(): Promise<SentRequest[]> {
  const twilio = await startTwilio(TWILIO_ACCOUNT);
  const recorder = await startRecorder(twilio.url);
  twilio.quiet = true;
  twilio.services.set(SERVICE, {
    numbers: [NUMBER],
    inboundRequestUrl: null,
    useInboundWebhookOnNumber: true,
  });
  twilio.applications.set(APP, { smsUrl: CALLBACK });
  twilio.numbers.set(NUMBER, { smsUrl: '', sms: true, smsApplicationSid: APP });
  const account = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken };
  const service = { ...account, messagingServiceSid: SERVICE };
  const carrier = twilioCarrier({ baseUrl: recorder.url });
  const operator = twilioOperatorCarrier(
    { ...account, messagingServiceSid: SERVICE },
    { baseUrl: recorder.url },
  );
  try {
    const url = 'https://files.example/a.png?x=1&y=2';
    const file = { name: 'a.png', url, contentType: null, voiceNote: false };
    const sent = message();
    assert.equal((await carrier.send(account, sent, never)).kind, 'accepted');
    assert.equal(
      (await carrier.send(service, message({ attachments: [file, file] }), never)).kind,
      'accepted',
    );
    assert.equal((await carrier.reconcile(account, attempt(sent.text))).kind, 'accepted');
    await carrier.probe(account, newId(), NUMBER);
    await carrier.probe(service, newId(), NUMBER);
    for (const config of [account, service])
      assert.ok(!(await checkConnection(carrier, config)).includes('fail'));

    await operator.checkAccount();
    twilio.offers.push({ number: '+12125550100', country: 'US', kind: 'Local' });
    twilio.offers.push({ number: '+4915155501000', country: 'DE', kind: 'Mobile' });
    for (const [country, areaCode] of [
      ['US', '212'],
      ['DE', '0151'],
    ] as const) {
      const lineId = newId();
      const names = { channel: 'sms' as const, firstName: 'Ada', lastName: 'L', email: null };
      let number = '';
      const choice: NumberChoice = {
        chosen: null,
        choose: async (chosen) => void (number = chosen.number),
        forget: async () => {},
      };
      const line = { ...names, lineId, country, areaCode, callbackUrl: CALLBACK };
      await operator.provisioning?.allocate(line, choice);
      await operator.configureInbound?.({}, lineId, CALLBACK);
      await operator.provisioning?.release?.({ lineId, number, at: new Date() });
      assert.ok(twilio.released.includes(number));
    }
    return recorder.requests;
  } finally {
    await Promise.all([carrier.close(), operator.close()]);
    await recorder.close();
    await twilio.stop();
  }
}
