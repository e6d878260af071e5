import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import type { TwilioService } from '#simulator/twilio-numbers.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { BadSignature } from '../carrier.ts';
import { signTwilio } from './callback.ts';
import { type TwilioOperatorCarrier, twilioOperatorCarrier } from './operator.ts';

const SERVICE = `MG${'a'.repeat(32)}`;
const [US, CANADA] = ['+12125550100', '+14165550100'];

let twilio: TwilioStandIn;
let carrier: TwilioOperatorCarrier;
beforeEach(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  twilio.offers.push({ number: US, country: 'US', kind: 'Local' });
  twilio.offers.push({ number: CANADA, country: 'CA', kind: 'Local' });
  carrier = twilioOperatorCarrier(
    {
      accountSid: TWILIO_ACCOUNT.sid,
      authToken: TWILIO_ACCOUNT.authToken,
      messagingServiceSid: SERVICE,
    },
    { baseUrl: twilio.url },
  );
});
afterEach(async () => {
  await carrier.close();
  await twilio.stop();
});

const serve = (fields: Partial<TwilioService> = {}): TwilioService => {
  const service = { numbers: [], inboundRequestUrl: null, useInboundWebhookOnNumber: true, ...fields };
  twilio.services.set(SERVICE, service);
  return service;
};
const allocate = (country = 'US') =>
  carrier.provisioning?.allocate(
    {
      lineId: newId(),
      channel: 'sms',
      firstName: 'Ada',
      lastName: 'L',
      email: null,
      areaCode: null,
      country,
      callbackUrl: 'https://linepace.example/callbacks',
    },
    { chosen: null, choose: async () => {}, forget: async () => {} },
  );

describe('with a messaging service for registered numbers', () => {
  it.each([
    ['does not exist', null, 'there is no messaging service'],
    ['has no registered campaign', { registered: false }, 'no registered A2P campaign'],
    ['reports replies to a URL of its own', { useInboundWebhookOnNumber: false }, 'Defer to sender'],
  ])('no US number is bought while it %s', async (_, fields, reason) => {
    if (fields) serve(fields);
    await expect(allocate()).rejects.toThrow(reason);
    await expect(carrier.checkAccount()).rejects.toThrow(reason);
    expect(twilio.bought).toEqual([]);
    // Other numbers need no registration there.
    expect(await allocate('CA')).toEqual({ address: CANADA, config: {} });
    const service = serve();
    await expect(carrier.checkAccount()).resolves.toBeUndefined();
    expect(await allocate()).toEqual({ address: US, config: { usRegistration: 'registered' } });
    expect(service.numbers).toEqual([US]);
  });

  it('a number that another service has is not called registered', async () => {
    serve();
    twilio.services.set(`MG${'b'.repeat(32)}`, {
      numbers: [US],
      inboundRequestUrl: null,
      useInboundWebhookOnNumber: true,
    });
    await expect(allocate()).rejects.toThrow('another Messaging Service');
  });
});

test('callbacks about its numbers are accepted that are signed with the SharedKey of the account', async () => {
  const { sid: accountSid, authToken } = TWILIO_ACCOUNT;
  const sharing = twilioOperatorCarrier({ accountSid, authToken, sharedKeySecret: 'the shared key' });
  const form = new URLSearchParams({ MessageSid: 'SM1', From: '+14155550123', Body: 'STOP' });
  const url = 'https://linepace.example/callbacks/carriers/twilio-operator/1';
  const headers = {
    'x-twilio-signature': signTwilio('the shared key', url, form, 'sha256'),
    'x-twilio-webhooks-signature-settings': 'key=SK1,algorithm=HMAC_SHA256',
  };
  const request = { url, headers, rawBody: form.toString() };
  expect(await sharing.parseCallback({}, request, 'tenant')).toMatchObject([{ kind: 'reply', text: 'STOP' }]);
  await expect(carrier.parseCallback({}, request, 'tenant')).rejects.toThrow(BadSignature);
  await sharing.close();
});
