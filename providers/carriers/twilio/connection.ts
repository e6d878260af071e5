import { z } from 'zod';
import { listOf } from '#domain/base/bounded-schema.ts';
import type { Exchange } from '../../egress-exchange.ts';
import type { ConnectionCheck, ConnectionGuide } from '../carrier.ts';
import { failed, passed, unknown } from '../connection-checks.ts';
import { Explanation, isOk, readJson, readOk } from '../http-response.ts';
import { ErrorResponse, twilioReason } from './errors.ts';

/** The names of pages and fields are those of console.twilio.com. */
export const TWILIO_GUIDE: ConnectionGuide = {
  title: 'Twilio',
  summary: 'SMS and MMS from a number of your Twilio account.',
  before: [
    'In the Twilio Console, open Phone Numbers, Manage, Active numbers, and choose a number that can send SMS. Buy one if there is none.',
    'Open the start page of the account. Under Account Info, copy the Account SID and the Auth Token.',
  ],
  after: [
    'In the Twilio Console, open Phone Numbers, Manage, Active numbers, and then the number.',
    'Under Messaging Configuration, set “A message comes in” to Webhook, with the callback URL below and HTTP POST.',
    'If the number is in a messaging service, set Integration of that service to “Defer to sender’s webhook”.',
    'Save the configuration, and test the connection here.',
  ],
};

const Account = z.object({ status: Explanation });

export function accountCheck(response: Exchange): ConnectionCheck {
  const account = readOk(response, Account);
  if (account?.status === 'active') return passed('credentials', 'Twilio accepts the credentials.');
  if (account) return failed('credentials', `The account is ${account.status}.`, 'accountSid');
  const reason = `Twilio refuses the credentials: ${twilioReason(response)}.`;
  if (response.status === 401 || response.status === 403) return failed('credentials', reason, 'authToken');
  if (response.status === 404) return failed('credentials', 'Twilio knows no such account.', 'accountSid');
  return unknown('credentials', `Twilio did not say whether they are right: ${twilioReason(response)}.`);
}

/** The query names one number. */
const MAX_NUMBERS = 100;
/** Of a messaging service, which by default has at most 400. */
const MAX_POOL = 1000;
/** Services of the account, and other numbers of a service, that are looked at. */
const MAX_LOOKED_AT = 20;
/** A number of the account, or an application, as far as it says where messages to it are reported. */
const Inbound = z.object({ sms_url: z.string().nullish(), sms_method: z.string().nullish() });
const OwnedNumber = Inbound.extend({
  sid: z.string(),
  phone_number: z.string(),
  sms_application_sid: z.string().nullish(),
  capabilities: z.object({ sms: z.boolean().nullish() }).nullish(),
});
type OwnedNumber = z.infer<typeof OwnedNumber>;
const Numbers = z.object({ incoming_phone_numbers: listOf(OwnedNumber, MAX_NUMBERS) });

const MessagingService = z.object({
  sid: z.string(),
  inbound_request_url: z.string().nullish(),
  inbound_method: z.string().nullish(),
  use_inbound_webhook_on_number: z.boolean().nullish(),
  us_app_to_person_registered: z.boolean().nullish(),
});
type MessagingService = z.infer<typeof MessagingService>;
const Services = z.object({ services: listOf(MessagingService, MAX_LOOKED_AT) });
const Pool = z.object({ phone_numbers: listOf(z.object({ phone_number: z.string() }), MAX_POOL) });

/** Requests to the account: of the API of 2010, with paths below the account, and of the Messaging API. */
export interface TwilioAccount {
  ask(path: string): Promise<Exchange>;
  askMessaging(path: string): Promise<Exchange>;
}

/** A number in E.164 that can belong to an account, unlike a short code or an alphanumeric sender. */
const isFullNumber = (sender: string): boolean => /^\+\d{7,15}$/.test(sender);

const numberPath = (number: string): string =>
  `/IncomingPhoneNumbers.json?${new URLSearchParams({ PhoneNumber: number }).toString()}`;
const servicePath = (sid: string, rest = ''): string => `/v1/Services/${encodeURIComponent(sid)}${rest}`;

const POOL_PAGE = `PageSize=${MAX_POOL}`;

const isUnknownService = (response: Exchange): boolean =>
  response.error === null && response.status === 404 && readJson(response, ErrorResponse)?.code === 20404;

/**
 * Whether the line can send: its number belongs to the account and can send SMS, and its messaging service has a sender. Answers
 * that say nothing about that prove nothing.
 * @param sender null: it is not known.
 * @throws Error with what is missing.
 */
export async function probeSender(
  account: TwilioAccount,
  sender: string | null,
  messagingServiceSid: string | undefined,
): Promise<void> {
  if (messagingServiceSid !== undefined) {
    const answer = await account.askMessaging(servicePath(messagingServiceSid, `/PhoneNumbers?${POOL_PAGE}`));
    if (isUnknownService(answer)) throw new Error(`there is no messaging service ${messagingServiceSid}`);
    const pool = readOk(answer, Pool);
    if (pool?.phone_numbers.length === 0 && !(await hasOtherSenders(account, messagingServiceSid)))
      throw new Error(`the messaging service ${messagingServiceSid} has no sender`);
    return;
  }
  if (sender === null || !isFullNumber(sender)) return;
  const numbers = readOk(await account.ask(numberPath(sender)), Numbers)?.incoming_phone_numbers;
  if (!numbers) return;
  const found = numbers.find(({ phone_number: owned }) => owned === sender);
  if (!found) throw new Error(`the account has no number ${sender}`);
  if (found.capabilities?.sms === false) throw new Error(`${sender} cannot send SMS`);
}

/**
 * Whether a messaging service can take numbers of the United States: it exists, its A2P campaign is registered, and replies go to the
 * URL of each number.
 * @throws with the reason.
 */
export async function checkRegisteredService(
  askMessaging: TwilioAccount['askMessaging'],
  sid: string,
): Promise<void> {
  const answer = await askMessaging(servicePath(sid));
  if (isUnknownService(answer)) throw new Error(`there is no messaging service ${sid}`);
  const service = readOk(answer, MessagingService);
  if (!service) throw new Error(twilioReason(answer));
  if (service.us_app_to_person_registered === false)
    throw new Error(`the messaging service ${sid} has no registered A2P campaign`);
  if (service.use_inbound_webhook_on_number !== true)
    throw new Error(`the messaging service ${sid} must “Defer to sender’s webhook” (Integration)`);
}

/** A messaging service can also send from short codes and alphanumeric senders. */
async function hasOtherSenders(account: TwilioAccount, serviceSid: string): Promise<boolean> {
  const lists = [
    ['/ShortCodes', z.object({ short_codes: listOf(z.unknown(), MAX_POOL) })],
    ['/AlphaSenders', z.object({ alpha_senders: listOf(z.unknown(), MAX_POOL) })],
  ] as const;
  for (const [path, schema] of lists) {
    const answer = await account.askMessaging(servicePath(serviceSid, path));
    const found = readOk<Record<string, unknown[]>>(answer, schema);
    // An answer that is no list proves nothing.
    if (!found || Object.values(found).some((senders) => senders.length > 0)) return true;
  }
  return false;
}

/** Whether the account has the number, it can send, and replies to it reach the line: the checks `sender` and `callback`. */
export async function* numberChecks(
  account: TwilioAccount,
  {
    number,
    callbackUrl,
    messagingServiceSid,
  }: { number: string; callbackUrl: string | null; messagingServiceSid: string | undefined },
): AsyncIterable<ConnectionCheck> {
  const answer = await account.ask(numberPath(number));
  const numbers = answer.status === 200 ? readJson(answer, Numbers) : null;
  if (!numbers) {
    yield unknown('sender', `Twilio did not list the numbers of the account: ${twilioReason(answer)}.`);
    return;
  }
  const found = numbers.incoming_phone_numbers.find(({ phone_number: owned }) => owned === number);
  if (!found) {
    yield failed('sender', `The account has no number ${number}.`, 'address');
    return;
  }
  if (found.capabilities?.sms === false) {
    yield failed('sender', `${number} cannot send SMS.`, 'address');
    return;
  }
  const pool = messagingServiceSid === undefined ? null : await poolOf(account, messagingServiceSid);
  yield senderCheck(number, pool);
  if (callbackUrl !== null) yield await callbackCheck(account, found, pool, callbackUrl);
}

/** The messaging service that the settings name; `service` null: it could not be read, for the reason. */
interface ServicePool {
  service: MessagingService | null;
  reason: string;
  isMissing: boolean;
  numbers: readonly string[];
}

async function poolOf(account: TwilioAccount, sid: string): Promise<ServicePool> {
  const answer = await account.askMessaging(servicePath(sid));
  const service = readOk(answer, MessagingService);
  const pool = service && (await account.askMessaging(servicePath(sid, `/PhoneNumbers?${POOL_PAGE}`)));
  const numbers = pool && readOk(pool, Pool);
  return {
    service: numbers ? service : null,
    reason: twilioReason(pool ?? answer),
    isMissing: isUnknownService(answer),
    numbers: (numbers?.phone_numbers ?? []).map(({ phone_number: number }) => number),
  };
}

function senderCheck(number: string, pool: ServicePool | null): ConnectionCheck {
  if (!pool) return passed('sender', `The account has the number ${number}, which can send SMS.`);
  const setting = 'messagingServiceSid';
  if (pool.isMissing) return failed('sender', 'Twilio knows no such messaging service.', setting);
  if (!pool.service) return unknown('sender', `Twilio did not show the messaging service: ${pool.reason}.`);
  if (!pool.numbers.includes(number))
    return failed(
      'sender',
      `The messaging service does not contain ${number}, so messages leave from other numbers: add it to the Sender Pool of the service.`,
      setting,
    );
  return passed('sender', `The messaging service contains the number ${number}, which can send SMS.`);
}

const CALLBACK = 'callback';
const cannotTell = (reason: string): ConnectionCheck =>
  unknown(CALLBACK, `Twilio did not say where replies are reported: ${reason}.`);

/**
 * Where Twilio reports messages to the number. A messaging service that contains it decides, unless it leaves that to the number;
 * an application of the number decides over the URL of the number.
 */
async function callbackCheck(
  account: TwilioAccount,
  number: OwnedNumber,
  pool: ServicePool | null,
  callbackUrl: string,
): Promise<ConnectionCheck> {
  const found = pool ?? (await serviceOf(account, number.sid));
  if (found.service === null) return cannotTell(found.reason);
  const { service } = found;
  if (service !== undefined && service.use_inbound_webhook_on_number !== true)
    return reported(
      { sms_url: service.inbound_request_url, sms_method: service.inbound_method },
      {
        subject: 'The messaging service of the number',
        place: 'the Integration settings of the service',
        callbackUrl,
      },
    );
  const own = await numberCheck(account, number, callbackUrl);
  if (own.result !== 'pass' || !pool) return own;
  // Messages also leave from the other numbers of the service, and replies go there.
  const others = pool.numbers.filter((other) => other !== number.phone_number);
  for (const other of others.slice(0, MAX_LOOKED_AT)) {
    const answer = await account.ask(numberPath(other));
    const owned = readOk(answer, Numbers)?.incoming_phone_numbers[0];
    if (!owned) return cannotTell(twilioReason(answer));
    const check = await numberCheck(account, owned, callbackUrl);
    if (check.result !== 'pass') return check;
  }
  return others.length > MAX_LOOKED_AT
    ? unknown(CALLBACK, `The messaging service has too many numbers to look at each of them.`)
    : own;
}

/** @returns the service that contains a number; undefined: none does; null: Twilio did not say, for the reason. */
async function serviceOf(
  account: TwilioAccount,
  numberSid: string,
): Promise<{ service: MessagingService | undefined | null; reason: string }> {
  const answer = await account.askMessaging(`/v1/Services?PageSize=${MAX_LOOKED_AT}`);
  // Another server that speaks Twilio's API may have no messaging services.
  if (answer.error === null && answer.status === 404) return { service: undefined, reason: '' };
  const services = readOk(answer, Services)?.services;
  if (!services) return { service: null, reason: twilioReason(answer) };
  for (const service of services) {
    const member = await account.askMessaging(
      servicePath(service.sid, `/PhoneNumbers/${encodeURIComponent(numberSid)}`),
    );
    if (isOk(member)) return { service, reason: '' };
    if (!isUnknownService(member)) return { service: null, reason: twilioReason(member) };
  }
  return services.length < MAX_LOOKED_AT
    ? { service: undefined, reason: '' }
    : { service: null, reason: 'the account has too many messaging services to look at each of them' };
}

async function numberCheck(
  account: TwilioAccount,
  number: OwnedNumber,
  callbackUrl: string,
): Promise<ConnectionCheck> {
  const applicationSid = number.sms_application_sid ?? '';
  const subject = `The number ${number.phone_number}`;
  const place = 'its Messaging Configuration';
  if (applicationSid === '') return reported(number, { subject, place, callbackUrl });
  const answer = await account.ask(`/Applications/${encodeURIComponent(applicationSid)}.json`);
  const application = readOk(answer, Inbound);
  if (!application) return cannotTell(twilioReason(answer));
  return reported(application, {
    subject: `${subject} uses a TwiML App, which`,
    place: 'the TwiML App, or a Webhook in the configuration of the number',
    callbackUrl,
  });
}

function reported(
  { sms_url: url, sms_method: method }: z.infer<typeof Inbound>,
  { subject, place, callbackUrl }: { subject: string; place: string; callbackUrl: string },
): ConnectionCheck {
  if (!url)
    return failed(CALLBACK, `${subject} reports replies to no URL: enter the callback URL in ${place}.`);
  if (!isSameUrl(url, callbackUrl))
    return failed(
      CALLBACK,
      `${subject} reports replies to another URL: replace it by the callback URL in ${place}.`,
    );
  if ((method ?? 'POST').toUpperCase() !== 'POST')
    return failed(CALLBACK, `${subject} reports replies with HTTP ${method}: choose HTTP POST in ${place}.`);
  return passed(CALLBACK, 'Replies to the number are reported to this line.');
}

function isSameUrl(a: string, b: string): boolean {
  const [left, right] = [URL.parse(a), URL.parse(b)];
  return left !== null && left.href === right?.href;
}
