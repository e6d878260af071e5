import { rootCertificates } from 'node:tls';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { listOf, numeric, readable } from '#domain/base/bounded-schema.ts';
import { type CarrierEvent, sanitizeEvents } from '#domain/lines/carrier-event.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { searchListing } from '#domain/sending/carrier-listing.ts';
import { mayBeSameNumber, normalizePhone } from '#domain/base/phone.ts';
import { exchange, type Exchange } from '../egress-exchange.ts';
import type { Guard } from '../egress-guard.ts';
import { timeLimit } from '../time-limit.ts';
import {
  type AttemptReference,
  BadSignature,
  HTTP_PORTS,
  type Carrier,
  type OutboundMessage,
  type ReconcileOutcome,
  type SendOutcome,
} from './carrier.ts';
import { caCertificatesOf } from './ca-certificates.ts';
import { createTrustingAgents } from './trusting-agents.ts';
import { serverCheck, unknown } from './connection-checks.ts';
import {
  Explanation,
  MAX_OBJECT_BYTES,
  MAX_PAGE_BYTES,
  mediaOf,
  rangeFrom,
  readJson,
} from './http-response.ts';
import { rcsAddress, readTwilioForm, statusEvents, verifyTwilioSignature } from './twilio-callback.ts';
import {
  accountCheck,
  numberChecks,
  probeSender,
  TWILIO_GUIDE,
  type TwilioAccount,
} from './twilio-connection.ts';
import { ErrorResponse, twilioFailure, twilioReason as reasonOf } from './twilio-errors.ts';

export interface TwilioCarrierOptions {
  /** The default API URL; a line's settings can override it. */
  baseUrl?: string;
  /** The certificates of the authority of that API, in PEM format; null: a public one. */
  ca?: string | null;
  /** Checks connections to servers from lines' settings. */
  guard?: Guard;
  timeoutMs?: number;
  clock?: () => Date;
}

/** The settings of a line, or of a workspace's fallback account. Default of `from`: the line's number. */
export const TwilioConfig = z.object({
  accountSid: z.string().min(1).meta({ description: 'It begins with AC.' }),
  authToken: z.string().min(1).meta({ secret: true }),
  sharedKeySecret: z
    .string()
    .min(1)
    .optional()
    .meta({ secret: true, description: 'Only if the account signs its webhooks with a SharedKey.' }),
  from: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Where messages leave from another sender than the line.' }),
  messagingServiceSid: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Begins with MG, if the number is in a messaging service.' }),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: "Only for a server other than Twilio's that speaks its API." }),
  caCertificates: caCertificatesOf('server'),
});
export type TwilioConfig = z.infer<typeof TwilioConfig>;

const MessageAnswer = z.object({
  // That Twilio has named it is enough: it has taken the message.
  sid: z.string().min(1),
  status: readable(Explanation),
  error_code: readable(numeric),
  error_message: readable(Explanation),
});
const PAGE = 100;
const MessageList = z.object({ messages: listOf(z.unknown(), PAGE), next_page_uri: z.string().nullish() });
/** What cannot be read of a message may be anything. */
const ListedMessage = z.object({
  sid: z.string(),
  direction: readable(z.string()),
  to: readable(z.string()),
  from: readable(z.string()),
  body: readable(z.string()),
  status: readable(z.string()),
  error_code: readable(numeric),
  date_created: readable(z.string()),
});
type ListedMessage = z.infer<typeof ListedMessage>;

const QUESTION_TIMEOUT_MS = 10_000;
/** How long after its start a request without a response may still reach Twilio or appear in the list. */
const SETTLE_MS = 45_000;
/** For clock differences; Twilio's timestamps are whole seconds. */
const CLOCK_SKEW_MS = 10 * 60_000;
const MAX_PAGES = 20;
/** Twilio puts this before each text of a trial account. */
const TRIAL = /^\s*sent from your twilio trial account\s*-\s*/i;

interface RequestOptions {
  form?: URLSearchParams;
  method?: 'GET' | 'POST' | 'DELETE';
  signal: AbortSignal;
  maxBytes?: number;
}

interface TwilioRequest {
  /** Posted; absent: nothing is. */
  form?: URLSearchParams;
  method?: 'DELETE';
}

export interface TwilioCarrier extends Carrier<TwilioConfig> {
  /** Calls the API of the account. @param path below the account's. */
  call(config: TwilioConfig, path: string, request?: TwilioRequest): Promise<Exchange>;
  /** Calls the Messaging API. @param path `/v1/…` */
  callMessaging(config: TwilioConfig, path: string, request?: TwilioRequest): Promise<Exchange>;
}

/**
 * SMS and MMS by Twilio Programmable Messaging (www.twilio.com/docs/messaging/api/message-resource), and events of calls
 * to the same number by Programmable Voice.
 */
export function twilioCarrier(options: TwilioCarrierOptions = {}): TwilioCarrier {
  const { baseUrl: defaultUrl = 'https://api.twilio.com', timeoutMs = 15_000 } = options;
  const clock = options.clock ?? (() => new Date());
  const connections = { connections: 64, headersTimeout: 0, bodyTimeout: 0 };
  const { guard, ca } = options;
  const operators = new Agent({ ...connections, ...(ca && { connect: { ca: [...rootCertificates, ca] } }) });
  /** For URLs from settings or responses. */
  const guarded = new Agent({ ...connections, ...(guard && { connect: guard.connect }) });
  const trusting = createTrustingAgents(
    (ca) => new Agent({ ...connections, connect: guard ? guard.connectTrusting(ca) : { ca } }),
  );
  const agentOf = ({ baseUrl, caCertificates: pem }: TwilioConfig): Agent =>
    baseUrl === undefined ? operators : pem === undefined ? guarded : trusting.of(pem);

  async function call(config: TwilioConfig, path: string, options: RequestOptions): Promise<Exchange> {
    const account = `/2010-04-01/Accounts/${encodeURIComponent(config.accountSid)}`;
    return exchangeWith(config, new URL(config.baseUrl ?? defaultUrl), account + path, options);
  }

  async function exchangeWith(
    config: TwilioConfig,
    base: URL,
    path: string,
    { form, method = form ? 'POST' : 'GET', signal, maxBytes = MAX_OBJECT_BYTES }: RequestOptions,
  ): Promise<Exchange> {
    return exchange(
      agentOf(config),
      {
        origin: base.origin,
        path: base.pathname.replace(/\/$/, '') + path,
        method,
        headers: {
          authorization: basicAuth(config),
          ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(form && { body: form.toString() }),
      },
      signal,
      maxBytes,
    );
  }

  const question = () => ({ signal: AbortSignal.timeout(QUESTION_TIMEOUT_MS) });

  const callMessaging = (config: TwilioConfig, path: string, request: TwilioRequest = {}) =>
    exchangeWith(config, messagingUrl(new URL(config.baseUrl ?? defaultUrl)), path, {
      ...question(),
      maxBytes: MAX_PAGE_BYTES,
      ...request,
    });

  const accountOf = (config: TwilioConfig): TwilioAccount => ({
    ask: (path) => call(config, path, { ...question(), maxBytes: MAX_PAGE_BYTES }),
    askMessaging: (path) => callMessaging(config, path),
  });

  return {
    name: 'twilio',
    channels: ['sms'],
    capabilities: () => ['attachments'],
    config: TwilioConfig,
    servers: ({ baseUrl }) => (baseUrl === undefined ? {} : { baseUrl: { url: baseUrl, ports: HTTP_PORTS } }),
    timeoutMs,
    // Twilio logs any other response as an error; an empty document sends no reply.
    callbackAnswer: { contentType: 'text/xml', body: '<Response/>' },

    async send(config, message, signal) {
      const limit = timeLimit(timeoutMs, signal);
      return sendOutcome(
        await call(config, '/Messages.json', { form: messageForm(config, message), signal: limit }),
      );
    },

    /** Twilio stores no reference of ours, so the message is found by recipient, time and text. */
    async reconcile(config, attempt) {
      const since = attempt.startedAt.getTime() - CLOCK_SKEW_MS;
      // A message that a messaging service sends by RCS is listed for another address.
      const addresses =
        config.messagingServiceSid === undefined ? [attempt.to] : [attempt.to, rcsAddress(attempt.to)];
      const messages: ListedMessage[] = [];
      let isComplete = true;
      for (const To of addresses) {
        const query = new URLSearchParams({ To, PageSize: String(PAGE) });
        let next: string | null = `/Messages.json?${query.toString()}`;
        // Not filtered by `DateSent`, which queued messages do not have. The list starts with the newest.
        for (let page = 0; next !== null && page < MAX_PAGES; page += 1) {
          const response: Exchange = await call(config, next, {
            ...question(),
            maxBytes: MAX_PAGE_BYTES,
          });
          const list: z.infer<typeof MessageList> | null =
            response.status === 200 ? readJson(response, MessageList) : null;
          if (!list) return { kind: 'unreachable', reason: reasonOf(response) };
          const read = list.messages.flatMap((raw) => ListedMessage.safeParse(raw).data ?? []);
          messages.push(...read);
          isComplete &&= read.length === list.messages.length;
          const isOlder = list.messages.length > 0 && read.every((one) => createdAt(one) < since);
          const following = list.next_page_uri ?? '';
          next =
            following === '' || isOlder ? null : `/Messages.json${new URL(following, defaultUrl).search}`;
        }
        isComplete &&= next === null;
      }
      const recent = messages.filter((message) => !(createdAt(message) < since));
      return findAttempt(recent, isComplete, { config, attempt, now: clock() });
    },

    async checkAvailability(_config, address) {
      return normalizePhone(address, 'US') === null
        ? { status: 'unavailable', reason: 'not a phone number' }
        : { status: 'available' };
    },

    account: ({ accountSid, authToken, baseUrl, messagingServiceSid, from }, address) =>
      JSON.stringify([accountSid, authToken, baseUrl, messagingServiceSid ?? from ?? address]),

    async probe(config, _lineId, address) {
      const response = await call(config, '.json', question());
      if (response.status !== 200 || response.error !== null) throw new Error(reasonOf(response));
      const account = readJson(response, z.object({ status: Explanation }));
      if (account?.status !== 'active')
        throw new Error(`the account is ${account?.status ?? 'in an unknown state'}`);
      if (address !== undefined)
        await probeSender(accountOf(config), senderOf(config, address), config.messagingServiceSid);
    },

    guide: TWILIO_GUIDE,

    async *checkConnection(config, subject) {
      const account = await call(config, '.json', question());
      yield serverCheck(new URL(config.baseUrl ?? defaultUrl).host, account, 'baseUrl');
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
      const now = clock();
      return sanitizeEvents(readTwilioForm(form, now), now);
    },

    async openMedia(config, address, signal, from = 0) {
      const base = config.baseUrl ?? defaultUrl;
      if (new URL(address).origin !== new URL(base).origin)
        throw new Error("not one of this carrier's addresses");
      const first = await request(address, {
        dispatcher: agentOf(config),
        headers: { authorization: basicAuth(config), ...rangeFrom(from) },
        signal,
      });
      // Redirects lead to signed storage URLs, which must not receive the credentials.
      const location = first.headers['location'];
      const isMoved = first.statusCode >= 300 && first.statusCode < 400 && typeof location === 'string';
      if (isMoved) await first.body.dump();
      const response = isMoved
        ? await request(storeAddress(location, address), {
            dispatcher: guarded,
            signal,
            headers: rangeFrom(from),
          })
        : first;
      return mediaOf(response, from);
    },

    call: (config, path, request = {}) =>
      call(config, path, { ...question(), maxBytes: MAX_PAGE_BYTES, ...request }),
    callMessaging,

    async close() {
      await Promise.all([operators.destroy(), guarded.destroy(), trusting.destroy()]);
    },
  };
}

/** The Messaging API has a host of its own; other servers that speak Twilio's APIs have one for all. */
function messagingUrl(api: URL): URL {
  if (!api.hostname.endsWith('.twilio.com')) return api;
  const url = new URL(api);
  url.hostname = url.hostname.replace(/^api\./, 'messaging.');
  return url;
}

/** In E.164 if it is a phone number. */
function senderOf({ from }: TwilioConfig, address: string | null): string | null {
  const sender = from ?? address;
  return sender === null ? null : (normalizePhone(sender, 'US') ?? sender);
}

function messageForm(config: TwilioConfig, message: OutboundMessage): URLSearchParams {
  const form = new URLSearchParams({ To: message.to.address, StatusCallback: message.callbackUrl });
  if (config.messagingServiceSid === undefined) form.set('From', config.from ?? message.from.address);
  else form.set('MessagingServiceSid', config.messagingServiceSid);
  if (message.text !== '') form.set('Body', message.text);
  for (const { url } of message.attachments) form.append('MediaUrl', url);
  return form;
}

function sendOutcome(response: Exchange): SendOutcome {
  if (!response.connected) return { kind: 'transient', reason: reasonOf(response) };
  if (response.error !== null || response.status === null)
    return { kind: 'unknown', reason: reasonOf(response) };
  if (response.status < 200 || response.status > 299) {
    const code = readJson(response, ErrorResponse)?.code ?? null;
    return twilioFailure(code, response.status, reasonOf(response));
  }
  const taken = readJson(response, MessageAnswer);
  if (!taken) return { kind: 'unknown', reason: 'the response is malformed' };
  if (taken.status === 'failed' || taken.status === 'undelivered') {
    const reason = taken.error_message ?? taken.status;
    return typeof taken.error_code === 'number'
      ? twilioFailure(taken.error_code, 400, reason)
      : { kind: 'refused', reason };
  }
  return { kind: 'accepted', carrierMessageId: taken.sid };
}

/** Not a number if the message has no date; then it may be of any time. */
const createdAt = ({ date_created: date }: ListedMessage): number => Date.parse(date ?? '');

/** @param messages those since shortly before the attempt. @param isComplete whether all of them were read. */
async function findAttempt(
  messages: readonly ListedMessage[],
  isComplete: boolean,
  { config, attempt, now }: { config: TwilioConfig; attempt: AttemptReference; now: Date },
): Promise<ReconcileOutcome> {
  const isRecordLost = attempt.startedBy > attempt.startedAt;
  // A messaging service chooses the number.
  const from = config.messagingServiceSid === undefined ? (config.from ?? attempt.from) : null;
  const isFromElsewhere = (message: ListedMessage): boolean =>
    from !== null && typeof message.from === 'string' && !isSameSender(message.from, from);
  const mayBeIt = (message: ListedMessage): boolean =>
    // Messages that the API did not create are answers and calls of a program at Twilio.
    !/^(?:inbound|outbound-(?:call|reply)$)/.test(message.direction ?? '') &&
    (typeof message.to !== 'string' || mayBeSameNumber(message.to, attempt.to)) &&
    // If records are lost, the line of each number is asked.
    (!isRecordLost || !isFromElsewhere(message));
  const candidates = await mapInTurns(messages, (message) =>
    mayBeIt(message)
      ? [
          {
            id: message.sid,
            text: isFromElsewhere(message) ? null : (message.body?.replace(TRIAL, '') ?? ''),
            hasFailed: FAILED.has(message.status ?? ''),
            reports: reportsOf(message, now),
          },
        ]
      : [],
  );
  const listed = candidates.flat();
  const isSettled = now.getTime() - attempt.startedBy.getTime() >= SETTLE_MS;
  const search = (messages: typeof listed) =>
    searchListing(
      { messages, isComplete },
      { text: attempt.text, takenIds: attempt.takenIds, isRecordLost, isSettled },
    );
  // One that failed may be of an earlier attempt, whose id Twilio told together with the failure.
  const alive = await search(listed.filter(({ hasFailed }) => !hasFailed));
  const result = alive.kind === 'found' ? alive : await search(listed);
  if (result.kind !== 'found') return result;
  const { id: carrierMessageId, hasFailed, reports } = result.message;
  if (hasFailed && !isSettled) return { kind: 'unreachable', reason: 'it may still be on its way' };
  return { kind: 'accepted', carrierMessageId, ...(reports.length > 0 && { reports }) };
}

const FAILED = new Set(['failed', 'undelivered', 'canceled']);

/** What callbacks tell about the message, which may have come before anybody knew its id, or not at all. */
const reportsOf = ({ sid, status, error_code: code }: ListedMessage, now: Date): CarrierEvent[] =>
  statusEvents(
    {
      MessageSid: sid,
      MessageStatus: status ?? '',
      ...(typeof code === 'number' && { ErrorCode: String(code) }),
    },
    now,
  );

/** Settings may contain a number in another form than Twilio's list. */
const isSameSender = (a: string, b: string): boolean =>
  (normalizePhone(a, 'US') ?? a.toLowerCase()) === (normalizePhone(b, 'US') ?? b.toLowerCase());

const basicAuth = ({ accountSid, authToken }: TwilioConfig): string =>
  `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;

/** Refuses a redirect from https to http. */
function storeAddress(location: string, from: string): URL {
  const target = new URL(location, from);
  if (target.protocol !== new URL(from).protocol)
    throw new Error('the file was redirected to another protocol');
  return target;
}
