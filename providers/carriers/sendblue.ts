import { z } from 'zod';
import { HeaderToken } from '#domain/base/header-token.ts';
import { listOf, numeric, readable, readableOf } from '#domain/base/bounded-schema.ts';
import { MAX_PARTICIPANTS } from '#domain/inbox/group.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import {
  type CarrierEvent,
  fileNameInUrl,
  type ReportedTyping,
  sanitizeEvents,
} from '#domain/lines/carrier-event.ts';
import type { Effect } from '#domain/messages/effect.ts';
import type { ActionOutcome } from '#domain/messages/message-action.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import type { Exchange } from '../egress-exchange.ts';
import { timeLimit } from '../time-limit.ts';
import { checkSecret, isOfLine, readJsonBody, withSecret } from './callback-secret.ts';
import { actionOutcomeOf, sentInPart } from './carrier-failure.ts';
import type {
  AttemptReference,
  Availability,
  Carrier,
  ConnectionCheck,
  ConnectionGuide,
  OutboundAction,
  OutboundMessage,
} from './carrier.ts';
import { credentialsCheck, failed, passed, serverCheck, unknown } from './connection-checks.ts';
import { createHostedApi, type HostedCarrierOptions, ownServerOf, unanswered } from './hosted-api.ts';
import {
  Explanation,
  failureOfLine,
  failureReason,
  foreignAnswer,
  isOk,
  readJson,
  readOk,
} from './http-response.ts';
import { CLOCK_SKEW_MS, findListedAttempt } from './listed-attempt.ts';
import { placeText } from './place-text.ts';
import { travelledBy } from './travelled-by.ts';

export const SendblueConfig = z.object({
  apiKeyId: HeaderToken.meta({ secret: true, description: 'The key of the API, sb-api-key-id.' }),
  apiSecretKey: HeaderToken.meta({ secret: true, description: 'Its secret, sb-api-secret-key.' }),
  fromNumber: z
    .string()
    .regex(/^\+\d{8,15}$/)
    .meta({ description: 'The number at Sendblue, for example +14155550111.' }),
  /** Part of the callback URLs: it is not documented how reports of statuses are signed. */
  callbackSecret: z.string().min(16).meta({ secret: true }),
  ...ownServerOf("Sendblue's"),
});
export type SendblueConfig = z.infer<typeof SendblueConfig>;

const GUIDE: ConnectionGuide = {
  title: 'Sendblue',
  summary: 'iMessage through a number of your Sendblue account.',
  before: [
    'In the Sendblue dashboard, choose the number that is to write, and copy it with its country code.',
    'Under API credentials, copy the API key and the API secret.',
  ],
  after: ['Sendblue was told the callback URL; it is listed in the dashboard under Webhooks, as Receive.'],
};

/** The names of effects that differ from ours. */
const styleOf = (effect: Effect): string => (effect === 'invisible_ink' ? 'invisible' : effect);

/** A message, as responses, lists and webhooks show it. */
const Message = z.object({
  message_handle: z.string().min(1),
  status: readable(Explanation),
  content: readable(z.string()),
  error_code: readable(numeric),
  error_message: readable(Explanation),
  is_outbound: readable(z.boolean()),
  opted_out: readable(z.boolean()),
  service: readable(Explanation),
  date_sent: readable(z.string()),
  date_created: readable(z.string()),
});
type Message = z.infer<typeof Message>;
/** What webhooks report. */
export const Reported = Message.extend({
  from_number: readable(z.string()),
  /** The contact, whoever wrote. */
  number: readable(z.string()),
  to_number: readable(z.string()),
  sendblue_number: readable(z.string()),
  media_url: readable(z.string()),
  message_type: readable(z.string()),
  group_id: readable(z.string()),
  participants: readable(readableOf(z.string().min(1), MAX_PARTICIPANTS)),
  reply_to: readable(z.object({ message_handle: z.string().min(1) })),
  /** What a contact shares has no other content. */
  location: readable(z.object({ latitude: z.number(), longitude: z.number() })),
});
/** What the webhook `typing_indicator` reports: `number` is the contact's. */
const Typing = z.object({
  number: z.string().min(1),
  is_typing: z.boolean(),
  from_number: readable(z.string()),
});
/** Sendblue's own errors; those of others have no status in capitals. */
const Failure = z.object({
  status: z.literal('ERROR'),
  message: readable(Explanation),
  error_message: readable(Explanation),
  error_code: readable(numeric),
  opted_out: readable(z.boolean()),
});
const PAGE = 100;
const MAX_PAGES = 10;
const MessageList = z.object({
  data: listOf(z.unknown(), PAGE),
  pagination: readable(z.object({ hasMore: readable(z.boolean()) })),
});
const Service = z.object({ service: z.string() });
const MAX_LINES = 1000;
const LineStates = z.object({
  status: z.literal('OK'),
  data: listOf(z.object({ sendblue_number: readable(z.string()), status: readable(Explanation) }), MAX_LINES),
});
/** Without numbers, a webhook gets the messages of the whole account. */
const Registered = z.union([
  z.string().transform((url) => ({ url, sendblue_numbers: null })),
  z.object({ url: z.string(), sendblue_numbers: readable(listOf(z.string(), MAX_LINES)) }),
]);
const Registrations = readable(listOf(Registered, 200));
const Webhooks = z.object({
  webhooks: z.object({ receive: Registrations, outbound: Registrations, typing_indicator: Registrations }),
});
/** `outbound` also reports what somebody has typed at Sendblue, `typing_indicator` that contacts type. */
const WEBHOOKS = ['receive', 'outbound', 'typing_indicator'] as const;
const Accepted = z.object({ status: z.enum(['OK', 'SENT', 'SUCCESS', 'QUEUED']) });

/**
 * Outcomes by Sendblue's error codes. Those about the account (`line`) can be fixed by the operator. 5000, an internal error, may come
 * after the message was sent.
 */
const FAILURES: Record<number, 'refused' | 'line'> = {
  4000: 'refused', // the request is not valid
  4001: 'line', // too many requests
  4002: 'refused', // a number to which nothing is sent, such as 911
  5003: 'line', // Sendblue is overloaded
  10001: 'refused', // it could not be sent
  10002: 'refused', // nobody knows whether it was sent
};
/** Errors without a code: what concerns the account or the number, and not the message. */
const ABOUT_THE_LINE = /from_number|api[ _-]?key|credential|account|plan|rate|limit|not registered/i;

const NO_IMESSAGE = { kind: 'unavailable', reason: 'the number has no iMessage' } as const;

/** iMessage by Sendblue (docs.sendblue.com, API v2). */
export function sendblueCarrier(options: HostedCarrierOptions = {}): Carrier<SendblueConfig> {
  const headersOf = ({ apiKeyId, apiSecretKey }: SendblueConfig) => ({
    'sb-api-key-id': apiKeyId,
    'sb-api-secret-key': apiSecretKey,
  });
  const api = createHostedApi('https://api.sendblue.co', headersOf, options);
  const { ask } = api;

  async function serviceOf(config: SendblueConfig, number: string, signal?: AbortSignal) {
    const limit = signal && { signal: timeLimit(api.timeoutMs, signal) };
    const response = await ask(config, '/api/evaluate-service', { number }, limit);
    return { response, service: readOk(response, Service)?.service };
  }

  return {
    name: 'sendblue',
    channels: ['imessage'],
    capabilities: () => ['reactions', 'typing', 'read_receipts', 'replies', 'effects', 'attachments'],
    config: SendblueConfig,
    callbackSecret: 'callbackSecret',
    servers: api.servers,
    timeoutMs: api.timeoutMs,
    guide: GUIDE,

    async configureInbound(config, _lineId, callbackUrl) {
      const url = withSecret(callbackUrl, config.callbackSecret);
      const response = await ask(config, '/api/account/webhooks');
      const known = readOk(response, Webhooks);
      if (!known) throw new Error(reasonOf(response));
      const change = async (type: string, method: 'POST' | 'DELETE', webhooks: unknown[]): Promise<void> => {
        const body = { type, webhooks };
        const changed = await api.call(config, '/api/account/webhooks', { method, body });
        if (!isOk(changed) || readJson(changed, Failure)) throw new Error(reasonOf(changed));
      };
      const webhook = { url, secret: config.callbackSecret, sendblue_numbers: [config.fromNumber] };
      for (const type of WEBHOOKS) {
        const registered = known.webhooks[type] ?? [];
        if (registered.some((one) => reportsTo(one, config, url))) continue;
        const former = registered.filter((one) => isOfLine(one.url, callbackUrl)).map((one) => one.url);
        const register = async (): Promise<void> => {
          if (former.length > 0) await change(type, 'DELETE', former);
          await change(type, 'POST', [webhook]);
        };
        // Accounts that report no typing send and receive all the same.
        await (type === 'typing_indicator' ? register().catch(() => {}) : register());
      }
    },

    async send(config, message, signal) {
      // Where a number has no iMessage, Sendblue sends an SMS instead. If it does not say, it is tried.
      const { service } = await serviceOf(config, message.to.address, signal);
      if (service === 'SMS') return NO_IMESSAGE;
      let first: SendOutcome | null = null;
      for (const part of partsOf(config, message)) {
        const outcome = sendOutcome(await api.send(config, '/api/send-message', { body: part, signal }));
        if (first?.kind === 'accepted' && outcome.kind !== 'accepted')
          return sentInPart(outcome.reason, first.carrierMessageId);
        if (outcome.kind !== 'accepted') return outcome;
        first ??= outcome;
      }
      return first ?? { kind: 'refused', reason: 'there is nothing to send' };
    },

    async act(config, action, signal) {
      const request = requestOf(config, action);
      if (typeof request === 'string') return { kind: 'refused', reason: request };
      return actionOutcome(await api.send(config, request.path, { body: request.body, signal }));
    },

    /** Sendblue stores no reference of ours, so the message is found by recipient, time and text. */
    async reconcile(config, attempt) {
      const messages: Message[] = [];
      let isComplete = false;
      let offset = 0;
      for (let page = 0; page < MAX_PAGES && !isComplete; page += 1) {
        const response = await ask(config, '/api/v2/messages', listingOf(attempt, offset));
        const list = readOk(response, MessageList);
        if (!list) return { kind: 'unreachable', reason: reasonOf(response) };
        messages.push(...list.data.flatMap((raw) => Message.safeParse(raw).data ?? []));
        offset += list.data.length;
        isComplete = list.pagination?.hasMore !== true;
      }
      const now = api.now();
      const listedOf = (message: Message) => ({
        id: message.message_handle,
        text: message.content ?? '',
        reports: statusEvents(message, now),
      });
      return findListedAttempt({ messages, isComplete }, listedOf, attempt, now);
    },

    async checkAvailability(config, address): Promise<Availability> {
      if (normalizePhone(address, 'US') === null)
        return { status: 'unavailable', reason: 'not a phone number' };
      const { response, service } = await serviceOf(config, address);
      if (service === 'iMessage') return { status: 'available' };
      if (service === 'SMS') return { status: 'unavailable', reason: NO_IMESSAGE.reason };
      return { status: 'error', reason: reasonOf(response) };
    },

    account: ({ apiKeyId, apiSecretKey, baseUrl, fromNumber }) =>
      JSON.stringify([apiKeyId, apiSecretKey, baseUrl, fromNumber]),

    async probe(config) {
      const response = await ask(config, '/api/v2/lines/state');
      const states = readOk(response, LineStates);
      if (!states) throw new Error(reasonOf(response));
      const check = numberCheck(config, states.data);
      if (check.result === 'fail') throw new Error(check.text);
    },

    async *checkConnection(config, { callbackUrl, reachCallbacks }) {
      const response = await ask(config, '/api/v2/lines/state');
      yield serverCheck(api.hostOf(config), response, 'baseUrl');
      if (response.error !== null) return;
      const states = readOk(response, LineStates);
      yield credentialsCheck(response, states !== null, {
        who: 'Sendblue',
        what: 'the API key',
        setting: 'apiSecretKey',
        reason: reasonOf(response),
      });
      if (!states) return;
      yield numberCheck(config, states.data);
      if (callbackUrl !== null) {
        const webhooks = readOk(await ask(config, '/api/account/webhooks'), Webhooks);
        yield webhookCheck(webhooks, config, withSecret(callbackUrl, config.callbackSecret));
      }
      yield { name: 'callback_address', ...(await reachCallbacks()) };
    },

    checkCallback: ({ callbackSecret }, head) => checkSecret(callbackSecret, head),

    async parseCallback(config, callback) {
      checkSecret(config.callbackSecret, callback);
      const now = api.now();
      const body = readJsonBody(callback.rawBody);
      const typing = Typing.safeParse(body).data;
      if (typing) return sanitizeEvents(typingOf(config, typing, now), now);
      return sanitizeEvents(eventsOf(config, Reported.parse(body), now), now);
    },

    openMedia: (_config, url, signal, from) => api.openMedia(url, signal, from),
    close: api.close,
  };
}

function reasonOf(response: Exchange): string {
  const own = readJson(response, Failure);
  return failureReason(response, own && (own.error_message ?? own.message));
}

/** One request for the text with the first file, and one for each further file. */
function partsOf(config: SendblueConfig, message: OutboundMessage): Record<string, unknown>[] {
  const { text, attachments, replyTo, effect } = message;
  const common = {
    number: message.to.address,
    from_number: config.fromNumber,
    status_callback: withSecret(message.callbackUrl, config.callbackSecret),
  };
  const [first, ...others] = attachments;
  return [
    {
      ...common,
      ...(text !== '' && { content: text }),
      ...(first && { media_url: first.url }),
      ...(replyTo !== undefined && { reply_to: { message_handle: replyTo } }),
      ...(effect !== undefined && { send_style: styleOf(effect) }),
    },
    ...others.map(({ url }) => ({ ...common, media_url: url })),
  ];
}

/** Whether an error concerns the account or the number, and not the message, whenever it is reported. */
function concernsLine(code: number | null, text: string): boolean {
  const known = code === null ? undefined : FAILURES[code];
  return known === 'line' || (known === undefined && ABOUT_THE_LINE.test(text));
}

function failureOf(response: Exchange): SendOutcome {
  const own = readJson(response, Failure);
  const code = own?.error_code ?? null;
  const text = reasonOf(response);
  const reason = code === null ? text : `${code}: ${text}`;
  if (own?.opted_out) return { kind: 'refused', reason, optedOut: true };
  if (own && concernsLine(code, text)) return { kind: 'transient', reason, ofLine: true };
  if (code !== null && FAILURES[code] === 'refused') return { kind: 'refused', reason };
  // An error without a code in a response with status 200 is about the message.
  const about = isOk(response) ? { status: 400 } : response;
  if (code === 5000) return { kind: 'unknown', reason };
  return failureOfLine(about, own !== null, reason) ?? { kind: 'refused', reason };
}

function sendOutcome(response: Exchange): SendOutcome {
  const lost = unanswered(response, reasonOf(response));
  if (lost) return lost;
  if (!isOk(response) || readJson(response, Failure)) return failureOf(response);
  const taken = readJson(response, Message);
  return taken
    ? { kind: 'accepted', carrierMessageId: taken.message_handle, ...travelledBy(taken.service) }
    : foreignAnswer(reasonOf(response));
}

/** @returns the reason if Sendblue cannot do that. */
function requestOf(
  { fromNumber }: SendblueConfig,
  { action, to, carrierMessageId }: OutboundAction,
): { path: string; body: unknown } | string {
  const about = { number: to, from_number: fromNumber };
  switch (action.kind) {
    case 'typing':
      return {
        path: '/api/send-typing-indicator',
        body: { ...about, state: action.on ? 'start' : 'stop' },
      };
    case 'read':
      return { path: '/api/mark-read', body: about };
    case 'reaction':
      if (action.removed || action.reaction === 'emoji')
        return 'Sendblue documents only the six reactions, and no way to take one back';
      return {
        path: '/api/send-reaction',
        body: { from_number: fromNumber, message_handle: carrierMessageId, reaction: action.reaction },
      };
    case 'edit':
    case 'unsend':
      return 'Sendblue cannot change a message that was sent';
    case 'contact_card':
      return 'Sendblue shares a card as a file';
  }
}

function actionOutcome(response: Exchange): ActionOutcome {
  const outcome = unanswered(response, reasonOf(response));
  if (!outcome && isOk(response) && readJson(response, Accepted)) return { kind: 'accepted' };
  const failure = outcome ?? (isOk(response) && !readJson(response, Failure) ? null : failureOf(response));
  if (!failure) return { kind: 'unknown', reason: reasonOf(response) };
  return actionOutcomeOf(failure);
}

const listingOf = ({ to, startedAt }: AttemptReference, offset: number): Record<string, string> => ({
  to_number: to,
  is_outbound: 'true',
  created_at_gte: new Date(startedAt.getTime() - CLOCK_SKEW_MS).toISOString(),
  order_by: 'createdAt',
  order_direction: 'desc',
  limit: String(PAGE),
  offset: String(offset),
});

/** A webhook that names no number gets what concerns the whole account. */
const typingOf = (
  { fromNumber }: SendblueConfig,
  typing: z.infer<typeof Typing>,
  at: Date,
): ReportedTyping[] =>
  (typing.from_number ?? fromNumber) === fromNumber
    ? [{ kind: 'typing', eventId: 'typing', at, from: typing.number, isOn: typing.is_typing }]
    : [];

/** @throws nothing: a report that says nothing new gives no event. */
function eventsOf(
  { fromNumber }: SendblueConfig,
  message: z.infer<typeof Reported>,
  now: Date,
): CarrierEvent[] {
  const sent = new Date(message.date_sent ?? message.date_created ?? '');
  const at = Number.isNaN(sent.getTime()) ? now : sent;
  const group = message.group_id || (message.message_type === 'group' ? message.message_handle : null);
  const url = message.media_url ?? '';
  // A webhook that names no number gets the messages of the whole account.
  const isOther = (line: string | null | undefined): boolean =>
    typeof line === 'string' && line !== fromNumber;
  const text = message.content || placeText(message.location?.latitude, message.location?.longitude);
  const isEmpty = text === '' && url === '';
  const isInbound =
    message.is_outbound === false || (message.is_outbound !== true && message.status === 'RECEIVED');
  if (!isInbound) {
    const to = group || message.number || message.to_number;
    const isTold =
      message.is_outbound === true && (message.status === 'SENT' || message.status === 'DELIVERED');
    const isOwn = isTold && !isEmpty && !isOther(message.sendblue_number ?? message.from_number);
    const { message_handle: id } = message;
    return [
      // Most are ours, and known.
      ...(isOwn && to
        ? [
            {
              kind: 'own_message' as const,
              eventId: `${id}:own`,
              carrierMessageId: id,
              at,
              to,
              text,
              fileNames: url === '' ? [] : [nameOf(url)],
              ...(group && { group: { id: group, participants: message.participants ?? [] } }),
            },
          ]
        : []),
      ...statusEvents(message, now),
    ];
  }
  const from = message.from_number || message.number;
  if (isOther(message.sendblue_number ?? message.to_number) || !from || isEmpty) return [];
  return [
    {
      kind: 'reply',
      eventId: message.message_handle,
      carrierMessageId: message.message_handle,
      at,
      from,
      text,
      attachments: url === '' ? [] : [{ url, contentType: null, name: nameOf(url) }],
      ...(message.reply_to && { replyTo: message.reply_to.message_handle }),
      autoReply: false,
      ...(group && { group: { id: group, participants: message.participants ?? [] } }),
    },
  ];
}

function statusEvents(
  { message_handle: carrierMessageId, status, ...message }: Message,
  at: Date,
): CarrierEvent[] {
  const about = {
    eventId: `${carrierMessageId}:${status}`,
    carrierMessageId,
    at,
    ...travelledBy(message.service),
  };
  const delivered = {
    kind: 'receipt',
    ...about,
    eventId: `${carrierMessageId}:DELIVERED`,
    status: 'delivered',
  } as const;
  if (status === 'DELIVERED') return [delivered];
  if (status === 'READ') return [delivered, { kind: 'read', ...about }];
  if (status !== 'ERROR' && status !== 'DECLINED') return [];
  const code = message.error_code ?? null;
  const text = message.error_message ?? status;
  return [
    {
      kind: 'receipt',
      ...about,
      status: 'failed',
      reason: code === null ? text : `${code}: ${text}`,
      ...(message.opted_out && { optedOut: true }),
      ...(concernsLine(code, text) && { ofLine: true }),
    },
  ];
}

const nameOf = (url: string): string => fileNameInUrl(url) || 'attachment';

function numberCheck(
  { fromNumber }: SendblueConfig,
  lines: z.infer<typeof LineStates>['data'],
): ConnectionCheck {
  const line = lines.find(({ sendblue_number: number }) => number === fromNumber);
  if (!line) return failed('sender', `The account has no number ${fromNumber}.`, 'fromNumber');
  if (line.status === 'OFFLINE') return failed('sender', `${fromNumber} is offline at Sendblue.`);
  return passed('sender', `${fromNumber} belongs to the account.`);
}

/** Whether a webhook gets the messages to the line's number. */
const reportsTo = (
  { url, sendblue_numbers: numbers }: z.infer<typeof Registered>,
  { fromNumber }: SendblueConfig,
  callbackUrl: string,
): boolean => url === callbackUrl && (!numbers?.length || numbers.includes(fromNumber));

function webhookCheck(
  known: z.infer<typeof Webhooks> | null,
  config: SendblueConfig,
  url: string,
): ConnectionCheck {
  if (!known) return unknown('callback', 'Sendblue did not list its webhooks.');
  const receive = known.webhooks.receive ?? [];
  if (receive.some((one) => reportsTo(one, config, url)))
    return passed('callback', 'Replies are reported to this line.');
  return failed(
    'callback',
    receive.some((one) => one.url === url)
      ? `The webhook of this line gets the messages to other numbers than ${config.fromNumber}: connect it again.`
      : 'Sendblue does not report replies to this line: connect it again.',
  );
}
