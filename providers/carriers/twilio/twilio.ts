import { z } from 'zod';
import { sanitizeEvents } from '#domain/lines/carrier-event.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import { BadSignature, HTTP_PORTS, type Carrier } from '../carrier.ts';
import { serverCheck, unknown } from '../connection-checks.ts';
import { Explanation, readJson } from '../http-response.ts';
import { createTwilioApi, type TwilioApi, type TwilioCarrierOptions, TwilioConfig } from './api.ts';
import { readTwilioForm, verifyTwilioSignature } from './callback.ts';
import { accountCheck, numberChecks, probeSender, TWILIO_GUIDE, type TwilioAccount } from './connection.ts';
import { twilioReason as reasonOf } from './errors.ts';
import { createReconciliation } from './reconcile.ts';
import { createSending } from './sending.ts';

export interface TwilioCarrier extends Carrier<TwilioConfig>, Pick<TwilioApi, 'call' | 'callMessaging'> {}

/**
 * SMS and MMS by Twilio Programmable Messaging (www.twilio.com/docs/messaging/api/message-resource), and events of calls
 * to the same number by Programmable Voice.
 */
export function twilioCarrier(options: TwilioCarrierOptions = {}): TwilioCarrier {
  const api = createTwilioApi(options);
  const accountOf = (config: TwilioConfig): TwilioAccount => ({
    ask: (path) => api.call(config, path),
    askMessaging: (path) => api.callMessaging(config, path),
  });

  return {
    name: 'twilio',
    channels: ['sms'],
    capabilities: () => ['attachments'],
    config: TwilioConfig,
    servers: ({ baseUrl }) => (baseUrl === undefined ? {} : { baseUrl: { url: baseUrl, ports: HTTP_PORTS } }),
    timeoutMs: api.timeoutMs,
    // Twilio logs any other response as an error; an empty document sends no reply.
    callbackAnswer: { contentType: 'text/xml', body: '<Response/>' },
    guide: TWILIO_GUIDE,
    ...createSending(api),
    ...createReconciliation(api),

    async checkAvailability(_config, address) {
      return normalizePhone(address, 'US') === null
        ? { status: 'unavailable', reason: 'not a phone number' }
        : { status: 'available' };
    },

    account: ({ accountSid, authToken, baseUrl, messagingServiceSid, from }, address) =>
      JSON.stringify([accountSid, authToken, baseUrl, messagingServiceSid ?? from ?? address]),

    async probe(config, _lineId, address) {
      const response = await api.call(config, '.json');
      if (response.status !== 200 || response.error !== null) throw new Error(reasonOf(response));
      const account = readJson(response, z.object({ status: Explanation }));
      if (account?.status !== 'active')
        throw new Error(`the account is ${account?.status ?? 'in an unknown state'}`);
      if (address !== undefined)
        await probeSender(accountOf(config), senderOf(config, address), config.messagingServiceSid);
    },

    async *checkConnection(config, subject) {
      const account = await api.call(config, '.json');
      yield serverCheck(api.addressOf(config).host, account, 'baseUrl');
      if (account.error !== null) return;
      const credentials = accountCheck(account);
      yield credentials;
      if (credentials.result !== 'pass') return;
      const number = normalizePhone(senderOf(config, subject.address) ?? '', 'US');
      if (number === null) yield unknown('sender', 'No phone number is given, so nothing was looked up.');
      else {
        const { callbackUrl } = subject;
        const { messagingServiceSid } = config;
        yield* numberChecks(accountOf(config), { number, callbackUrl, messagingServiceSid });
      }
      yield { name: 'callback_address', ...(await subject.reachCallbacks()) };
    },

    checkCallback(_config, { headers }) {
      if (!headers['x-twilio-signature']) throw new BadSignature('it is not signed');
    },

    async parseCallback(config, callback) {
      const form = verifyTwilioSignature(config, callback);
      const now = api.now();
      return sanitizeEvents(readTwilioForm(form, now), now);
    },

    openMedia: api.openMedia,
    call: api.call,
    callMessaging: api.callMessaging,
    close: api.close,
  };
}

/** In E.164 if it is a phone number. */
function senderOf({ from }: TwilioConfig, address: string | null): string | null {
  const sender = from ?? address;
  return sender === null ? null : (normalizePhone(sender, 'US') ?? sender);
}
