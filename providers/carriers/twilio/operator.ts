import { randomInt } from 'node:crypto';
import { getCountryCallingCode, isSupportedCountry } from 'libphonenumber-js/max';
import { z } from 'zod';
import { listOf } from '#domain/base/bounded-schema.ts';
import { UsRegistration } from '#domain/lines/us-registration.ts';
import type { Exchange } from '../../egress-exchange.ts';
import { type Carrier, type ChosenNumber, LineRefused, type NewLine, type NumberChoice } from '../carrier.ts';
import { isOk, readJson, readOk } from '../http-response.ts';
import { checkRegisteredService } from './connection.ts';
import { ErrorResponse, twilioReason } from './errors.ts';
import type { TwilioCarrierOptions, TwilioConfig } from './api.ts';
import { twilioCarrier } from './twilio.ts';

/** The operator's account, in which numbers are bought. */
export interface TwilioOperatorAccount {
  accountSid: string;
  authToken: string;
  /** The secret of the SharedKey with which it signs its webhooks; null: it uses the auth token. */
  sharedKeySecret?: string | null;
  /** A messaging service with a registered A2P campaign, to which numbers of the United States are added; null: there is none. */
  messagingServiceSid?: string | null;
}

/** Lines send from their own number. */
const OperatorConfig = z.object({ usRegistration: UsRegistration.optional() });
type OperatorConfig = z.infer<typeof OperatorConfig>;

export interface TwilioOperatorCarrier extends Carrier<OperatorConfig> {
  /** Whether numbers can be bought in the account. @throws with the reason */
  checkAccount(): Promise<void>;
}

const PAGE = 30;
const Found = z.object({
  available_phone_numbers: listOf(z.object({ phone_number: z.string() }), PAGE),
});
const Owned = z.object({
  incoming_phone_numbers: listOf(
    z.object({ sid: z.string(), phone_number: z.string(), friendly_name: z.string().nullish() }),
    1000,
  ),
});

/** Where numbers for SMS are searched, in this order. In some countries only mobile numbers can send SMS. */
const KINDS = ['Local', 'Mobile'] as const;

const Bought = z.object({ sid: z.string() });

const NOT_AVAILABLE = 21422;
/** www.twilio.com/docs/api/errors/21710 */
const ALREADY_IN_SERVICE = 21710;
/** How long after its choice a number may still be bought by a request whose response was lost. */
const IN_FLIGHT_MS = 60_000;

/** The name of a line's number in the account, by which it is found again. At most 64 characters. */
const labelOf = (lineId: string): string => `Linepace ${lineId}`;

/**
 * SMS from numbers that are bought for lines in the operator's Twilio account
 * (www.twilio.com/docs/phone-numbers/api/incomingphonenumber-resource).
 */
export function twilioOperatorCarrier(
  { accountSid, authToken, sharedKeySecret, messagingServiceSid: service = null }: TwilioOperatorAccount,
  options: TwilioCarrierOptions = {},
): TwilioOperatorCarrier {
  const twilio = twilioCarrier(options);
  const clock = options.clock ?? (() => new Date());
  const config: TwilioConfig = {
    accountSid,
    authToken,
    ...(typeof sharedKeySecret === 'string' && { sharedKeySecret }),
  };
  const ask = (path: string): Promise<Exchange> => twilio.call(config, path);
  const post = (path: string, form: Record<string, string>): Promise<Exchange> =>
    twilio.call(config, path, { form: new URLSearchParams(form) });

  /** The number, if it was bought for the line. */
  async function findOwned(lineId: string, number: string): Promise<{ sid: string } | null> {
    const query = new URLSearchParams({ PhoneNumber: number });
    const answer = await ask(`/IncomingPhoneNumbers.json?${query.toString()}`);
    const owned = readOk(answer, Owned);
    if (!owned) throw new Error(twilioReason(answer));
    return (
      owned.incoming_phone_numbers.find(
        ({ phone_number: one, friendly_name: name }) => one === number && name === labelOf(lineId),
      ) ?? null
    );
  }

  const askMessaging = (path: string): Promise<Exchange> => twilio.callMessaging(config, path);

  /** Adds a number to the registered messaging service. Idempotent. */
  async function register(numberSid: string, serviceSid: string): Promise<void> {
    const answer = await twilio.callMessaging(
      config,
      `/v1/Services/${encodeURIComponent(serviceSid)}/PhoneNumbers`,
      { form: new URLSearchParams({ PhoneNumberSid: numberSid }) },
    );
    if (!isOk(answer) && codeOf(answer) !== ALREADY_IN_SERVICE) throw new Error(twilioReason(answer));
  }

  /** Buys the number, or finds it if it is bought. @throws LineRefused if it will not be available */
  async function buy(line: NewLine, { number, at }: ChosenNumber, choice: NumberChoice): Promise<string> {
    const before = await findOwned(line.lineId, number);
    if (before) return before.sid;
    const answer = await post('/IncomingPhoneNumbers.json', {
      PhoneNumber: number,
      FriendlyName: labelOf(line.lineId),
      SmsUrl: line.callbackUrl,
      SmsMethod: 'POST',
    });
    const bought = readOk(answer, Bought);
    if (bought) return bought.sid;
    // A response that cannot be read is no refusal: the next try finds the number.
    if (isOk(answer)) throw new Error('the response to the purchase cannot be read');
    if (codeOf(answer) !== NOT_AVAILABLE) {
      const failure = failureOf(answer, 'the purchase');
      if (failure instanceof LineRefused) await choice.forget(number);
      throw failure;
    }
    // An earlier request whose response was lost may have bought it, and the list may not show that yet.
    const owned = await findOwned(line.lineId, number);
    if (owned) return owned.sid;
    if (clock().getTime() - at.getTime() >= IN_FLIGHT_MS) await choice.forget(number);
    throw new Error('the number is not available any more');
  }

  /** @throws LineRefused if there is none. */
  async function search({ country, areaCode }: NewLine): Promise<string> {
    const criteria = criteriaOf(country, areaCode);
    for (const kind of KINDS) {
      const query = new URLSearchParams({
        ...criteria.query,
        SmsEnabled: 'true',
        ExcludeAllAddressRequired: 'true',
        Beta: 'false',
        PageSize: String(PAGE),
      });
      const answer = await ask(
        `/AvailablePhoneNumbers/${encodeURIComponent(country)}/${kind}.json?${query.toString()}`,
      );
      // The country has no numbers of this kind.
      if (answer.error === null && answer.status === 404) continue;
      const found = readOk(answer, Found);
      if (!found) throw failureOf(answer, 'the search');
      const numbers = found.available_phone_numbers
        .map(({ phone_number: number }) => number)
        .filter(criteria.fits);
      // Two lines that are requested at the same time are not to get the same number.
      const chosen = numbers.length > 0 ? numbers[randomInt(numbers.length)] : undefined;
      if (chosen !== undefined) return chosen;
    }
    throw new LineRefused(`Twilio has no number for SMS ${criteria.text}`);
  }

  return {
    name: TWILIO_OPERATOR,
    channels: twilio.channels,
    capabilities: twilio.capabilities,
    config: OperatorConfig,
    timeoutMs: twilio.timeoutMs,
    ...(twilio.callbackAnswer && { callbackAnswer: twilio.callbackAnswer }),
    send: (_config, message, signal) => twilio.send(config, message, signal),
    reconcile: (_config, attempt) => twilio.reconcile(config, attempt),
    checkAvailability: (_config, address) => twilio.checkAvailability(config, address),
    probe: (_config, lineId, address) => twilio.probe(config, lineId, address),
    account: (_config, address) => twilio.account?.(config, address) ?? '',
    checkConnection: (_config, subject) => twilio.checkConnection(config, subject),
    checkCallback: (_config, head) => twilio.checkCallback?.(config, head),
    parseCallback: (_config, request, tenant) => twilio.parseCallback(config, request, tenant),
    openMedia: (_config, url, signal) => twilio.openMedia(config, url, signal),
    close: () => twilio.close(),

    async checkAccount() {
      await twilio.probe(config, '');
      if (service !== null) await checkRegisteredService(askMessaging, service);
    },

    guide: {
      title: 'New number',
      summary: 'SMS from a number at Twilio that this installation gets for you.',
      before: [],
      after: [],
    },

    provisioning: {
      async allocate(line, choice) {
        const registers = service !== null && line.country === 'US';
        // Before anything is bought.
        if (registers) await checkRegisteredService(askMessaging, service);
        let { chosen } = choice;
        if (chosen === null) {
          chosen = { number: await search(line), at: clock() };
          await choice.choose(chosen);
        }
        const sid = await buy(line, chosen, choice);
        if (registers) await register(sid, service);
        const usRegistration = registers ? 'registered' : 'unregistered';
        return { address: chosen.number, config: line.country === 'US' ? { usRegistration } : {} };
      },

      async release({ lineId, number, at }) {
        const owned = await findOwned(lineId, number);
        if (owned) {
          const path = `/IncomingPhoneNumbers/${encodeURIComponent(owned.sid)}.json`;
          const answer = await twilio.call(config, path, { method: 'DELETE' });
          if (!isOk(answer) && answer.status !== 404) throw new Error(twilioReason(answer));
          return;
        }
        if (clock().getTime() - at.getTime() < IN_FLIGHT_MS)
          throw new Error('a purchase of the number may still be on its way');
      },
    },

    async configureInbound(_config, lineId, callbackUrl) {
      const query = new URLSearchParams({ FriendlyName: labelOf(lineId) });
      const list = await ask(`/IncomingPhoneNumbers.json?${query.toString()}`);
      const owned = readOk(list, Owned)?.incoming_phone_numbers.find(
        ({ friendly_name: name }) => name === labelOf(lineId),
      );
      if (!owned) throw new Error(isOk(list) ? 'the account has no number of the line' : twilioReason(list));
      const answer = await post(`/IncomingPhoneNumbers/${encodeURIComponent(owned.sid)}.json`, {
        SmsUrl: callbackUrl,
        SmsMethod: 'POST',
      });
      if (!isOk(answer)) throw new Error(twilioReason(answer));
    },
  };
}

/** Used in `lines.carrier`. Workspaces cannot connect lines to it. */
export const TWILIO_OPERATOR = 'twilio-operator';

interface Criteria {
  query: Record<string, string>;
  fits: (number: string) => boolean;
  /** Completes the sentence “There is no number …”. */
  text: string;
}

/** @throws LineRefused if no number can fit. */
function criteriaOf(country: string, areaCode: string | null): Criteria {
  if (!isSupportedCountry(country)) throw new LineRefused(`${country} is not a country with phone numbers`);
  const prefix = `+${getCountryCallingCode(country)}`;
  const code = (areaCode ?? '').replace(/^0+/, '');
  const text = areaCode === null ? `in ${country}` : `with the area code ${areaCode} in ${country}`;
  const fits = (number: string): boolean => number.startsWith(prefix + code);
  if (code === '') return { query: {}, fits, text };
  // Twilio knows area codes of North America only.
  if (prefix !== '+1') return { query: { Contains: `${prefix}${code}`.slice(1) }, fits, text };
  if (code.length !== 3) throw new LineRefused(`There is no number ${text}: it must have three digits`);
  return { query: { AreaCode: code }, fits, text };
}

const codeOf = (answer: Exchange): number | null => readJson(answer, ErrorResponse)?.code ?? null;

/** Twilio's own refusal is final; anything else may be better later. */
function failureOf(answer: Exchange, what: string): Error {
  const reason = twilioReason(answer);
  const code = codeOf(answer);
  const { status, error } = answer;
  const isRefusal =
    error === null && status !== null && status >= 400 && status < 500 && status !== 429 && code !== null;
  return isRefusal ? new LineRefused(`Twilio refused ${what}: ${code}: ${reason}`) : new Error(reason);
}
