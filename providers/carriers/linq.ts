import { z } from 'zod';
import { HeaderToken } from '#domain/base/header-token.ts';
import { firstOf, listOf, readable } from '#domain/base/bounded-schema.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import type { Channel } from '#domain/base/channel.ts';
import { IMESSAGE_CAPABILITIES } from '#domain/lines/capability.ts';
import {
  type CarrierEvent,
  type InboundGroup,
  MAX_FILES,
  sanitizeEvents,
  TAPBACKS,
} from '#domain/lines/carrier-event.ts';
import type { Effect } from '#domain/messages/effect.ts';
import type { ActionOutcome } from '#domain/messages/message-action.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import type { Transport } from '#domain/messages/transport.ts';
import { searchListing } from '#domain/sending/carrier-listing.ts';
import type { Exchange } from '../egress-exchange.ts';
import { timeLimit } from '../time-limit.ts';
import { checkSecret, isOfLine, readJsonBody, withSecret } from './callback-secret.ts';
import { type CarrierFailure, outcomeOfFailure, receiptOfFailure } from './carrier-failure.ts';
import type {
  AttemptReference,
  Availability,
  Carrier,
  CarrierGroup,
  ConnectionCheck,
  ConnectionGuide,
  OutboundAction,
  OutboundMessage,
  ReconcileOutcome,
} from './carrier.ts';
import { failed, passed, serverCheck, unknown } from './connection-checks.ts';
import {
  createHostedApi,
  HOSTED_TIMEOUT_MS,
  type HostedCarrierOptions,
  ownServerOf,
  unanswered,
} from './hosted-api.ts';
import { Explanation, failureOfLine, failureReason, isOk, readJson, readOk } from './http-response.ts';

export const LinqConfig = z.object({
  apiKey: HeaderToken.meta({ secret: true, description: 'The token of the Partner API, version 3.' }),
  fromNumber: z
    .string()
    .regex(/^\+\d{8,15}$/)
    .meta({ description: 'The number at Linq, for example +14155550111.' }),
  /** Part of the callback URL: the secret with which Linq signs is told only to whom registers it. */
  callbackSecret: z.string().min(16).meta({ secret: true }),
  ...ownServerOf("Linq's"),
});
export type LinqConfig = z.infer<typeof LinqConfig>;

const GUIDE: ConnectionGuide = {
  title: 'Linq',
  summary: 'iMessage and SMS through a number of your Linq account.',
  before: [
    'In the Linq dashboard, choose the number that is to write, and copy it with its country code.',
    'Create a token of the Partner API, and copy it.',
  ],
  after: ['Linq was told the callback URL, as a webhook subscription for this number.'],
};

/** The version of webhooks that is read, and what they are about. */
const WEBHOOK_VERSION = '2026-02-03';
const EVENTS = [
  'message.received',
  'message.delivered',
  'message.read',
  'message.failed',
  'message.edited',
  'reaction.added',
  'reaction.removed',
];
/** What is reported about the line's own messages, also those that somebody has typed at Linq. A subscription without it reports replies. */
const OWN_EVENT = 'message.sent';

const SERVICES: Record<string, Transport> = { iMessage: 'imessage', RCS: 'rcs', SMS: 'sms' };
const PREFERRED: Record<Channel, string> = { imessage: 'iMessage', sms: 'SMS', email: 'SMS' };

/** Linq has no `shooting_star`: such a message is sent without it. */
const EFFECTS: Partial<Record<Effect, { type: 'screen' | 'bubble'; name: string }>> = {
  slam: { type: 'bubble', name: 'slam' },
  loud: { type: 'bubble', name: 'loud' },
  gentle: { type: 'bubble', name: 'gentle' },
  invisible_ink: { type: 'bubble', name: 'invisible' },
  echo: { type: 'screen', name: 'echo' },
  spotlight: { type: 'screen', name: 'spotlight' },
  balloons: { type: 'screen', name: 'balloons' },
  confetti: { type: 'screen', name: 'confetti' },
  love: { type: 'screen', name: 'love' },
  lasers: { type: 'screen', name: 'lasers' },
  fireworks: { type: 'screen', name: 'fireworks' },
  celebration: { type: 'screen', name: 'celebration' },
};

/** Linq's codes have four digits; a smaller one repeats the HTTP status, as gateways do. */
const FIRST_CODE = 1000;
const Failure = z.object({
  success: z.literal(false),
  error: z.object({
    code: z.int().min(FIRST_CODE),
    message: readable(Explanation),
    retry_after: readable(z.number().min(0).max(86_400)),
  }),
});
const Sent = z.object({ id: z.string().min(1), service: readable(Explanation) });
const SendResponse = z.union([
  z.object({ chat: z.object({ id: z.string(), is_group: readable(z.boolean()), message: Sent }) }),
  z.object({ chat_id: z.string(), message: Sent }),
]);
const PAGE = 100;
const MAX_PAGES = 10;
const ChatHandle = z.object({ handle: z.string().min(1), is_me: readable(z.boolean()) });
/** A group with more participants is not read. */
const MAX_HANDLES = 500;
const Chat = z.object({
  id: z.string().min(1),
  is_group: z.boolean(),
  /** Of a group without a name, the handles of its participants. */
  display_name: readable(z.string()),
  handles: readable(listOf(ChatHandle, MAX_HANDLES)),
});
type Chat = z.infer<typeof Chat>;
const Chats = z.object({ chats: listOf(Chat, PAGE) });
const Part = z.object({
  type: readable(z.string()),
  value: readable(z.string()),
  /** What an app shows on phones without it. */
  fallback_text: readable(z.string()),
  url: readable(z.string()),
  filename: readable(z.string()),
  mime_type: readable(z.string()),
});
const Parts = firstOf(Part, MAX_FILES);
const Messages = z.object({ messages: listOf(z.unknown(), PAGE), next_cursor: readable(z.string()) });
const Message = z.object({
  id: z.string().min(1),
  is_from_me: z.boolean(),
  delivery_status: readable(Explanation),
  created_at: readable(z.string()),
  parts: readable(Parts),
});
type Message = z.infer<typeof Message>;
const MAX_NUMBERS = 1000;
const PhoneNumbers = z.object({
  phone_numbers: listOf(z.object({ phone_number: z.string() }), MAX_NUMBERS),
});
const Available = z.object({ available: z.boolean() });
const MAX_SUBSCRIPTIONS = 200;
const Subscription = z.object({
  id: z.string(),
  target_url: z.string(),
  is_active: readable(z.boolean()),
  subscribed_events: readable(listOf(z.string(), MAX_SUBSCRIPTIONS)),
  /** Empty: all of the account. */
  phone_numbers: readable(listOf(z.string(), MAX_NUMBERS)),
});
type Subscription = z.infer<typeof Subscription>;
const Subscriptions = z.object({ subscriptions: listOf(Subscription, MAX_SUBSCRIPTIONS) });

const Handle = z.object({ handle: z.string().min(1) });
/** What webhooks report. */
export const LinqWebhook = z.object({
  event_id: z.string().min(1),
  event_type: z.string(),
  created_at: readable(z.string()),
  data: z.unknown(),
});
type LinqWebhook = z.infer<typeof LinqWebhook>;
const InChat = z.object({
  id: readable(z.string().min(1)),
  is_group: readable(z.boolean()),
  owner_handle: readable(Handle),
});
const MessageEvent = z.object({
  id: z.string().min(1),
  chat: InChat,
  direction: z.string(),
  sender_handle: readable(Handle),
  parts: readable(Parts),
  reply_to: readable(z.object({ message_id: readable(z.string()) })),
  /** Of messages of the API. */
  idempotency_key: readable(z.string()),
});
const EditEvent = MessageEvent.extend({ part: z.object({ text: readable(z.string()) }) });
const FailedEvent = z.object({
  message_id: z.string().min(1),
  code: readable(z.int()),
  reason: readable(Explanation),
});
const ReactionEvent = z.object({
  message_id: z.string().min(1),
  is_from_me: z.boolean(),
  reaction_type: z.string(),
  custom_emoji: readable(z.string()),
  from_handle: readable(Handle),
  /** Of older reports. */
  from: readable(z.string().min(1)),
});

/** How long after its start a request without a response may still reach Linq or appear in the list. */
const SETTLE_MS = 180_000;
const CLOCK_SKEW_MS = 10 * 60_000;

/** Linq's error codes (docs.linqapp.com/error). Other codes of a 5xx leave open whether the message was sent. */
const FAILURES: Record<number, CarrierFailure> = {
  1001: 'refused', // a field is missing
  1002: 'refused', // not in E.164
  1003: 'refused', // the body is not valid
  1004: 'refused', // the content is not valid
  1005: 'refused', // a value is not valid, such as a link in the first message of a chat
  1007: 'line', // too many requests
  2001: 'transient', // no such chat: it is looked for again
  2003: 'refused', // no such file
  2004: 'credentials',
  2005: 'line', // access denied
  2006: 'line', // not a number of the account
  2007: 'transient', // a file is not ready
  2008: 'line', // a sandbox writes only to whom has written to it
  2009: 'transient', // the chat is being created
  2011: 'line', // the feature is not available
  2013: 'refused', // the chat was left
  2015: 'transient', // a conflict
  2016: 'refused', // not in a group
  2017: 'refused', // not by this service
  3007: 'refused', // it was tried as often as Linq does
  4001: 'refused', // it could not be delivered
  4002: 'line', // the number is not available
  4005: 'unavailable', // the recipient cannot get this kind of message
  5004: 'refused', // the kind of file
  5005: 'refused', // the file is too large
  5006: 'refused', // the file is not of its kind
  5007: 'refused', // the file cannot be fetched
};

/** iMessage, RCS and SMS by Linq's Partner API (docs.linqapp.com), version 3. */
export function linqCarrier(options: HostedCarrierOptions = {}): Carrier<LinqConfig> {
  const api = createHostedApi('https://api.linqapp.com/api/partner', options);
  const headersOf = ({ apiKey }: LinqConfig) => ({ authorization: `Bearer ${apiKey}` });
  const ask = (config: LinqConfig, path: string, query: Record<string, string> = {}) =>
    api.call(config, `/v3${path}?${new URLSearchParams(query).toString()}`, { headers: headersOf(config) });

  /** The conversation with a contact; null: there is none yet. */
  async function chatWith(
    config: LinqConfig,
    to: string,
  ): Promise<{ id: string | null } | { failure: Exchange }> {
    const response = await ask(config, '/chats', { from: config.fromNumber, to, limit: String(PAGE) });
    const list = readOk(response, Chats);
    if (!list) return { failure: response };
    return { id: list.chats.find(({ is_group: isGroup }) => !isGroup)?.id ?? null };
  }

  /** The conversation with a group that may have been created without our knowing; null: there is none. */
  async function chatWithGroup(
    config: LinqConfig,
    { id, participants }: CarrierGroup,
  ): Promise<{ id: string | null } | { failure: Exchange }> {
    if (id !== null) return { id };
    const response = await ask(config, '/chats', {
      from: config.fromNumber,
      to: participants[0] ?? '',
      limit: String(PAGE),
    });
    const list = readOk(response, Chats);
    if (!list) return { failure: response };
    const people = new Set(participants);
    const found = list.chats.find((chat) => {
      const others = othersIn(chat, config);
      return chat.is_group && others.length === people.size && others.every((other) => people.has(other));
    });
    return { id: found?.id ?? null };
  }

  /** A message of the line that no program has sent: somebody has typed it. Messages do not name their recipient. */
  async function ownMessage(config: LinqConfig, { data, event_type: type }: LinqWebhook, at: Date) {
    if (type !== OWN_EVENT && type !== 'message.delivered') return [];
    const message = MessageEvent.safeParse(data).data;
    if (!message) return [];
    const { id: chatId, is_group: isGroup } = message.chat;
    const isTyped = message.direction === 'outbound' && !message.idempotency_key;
    if (!isTyped || !chatId || !isOfNumber(message.chat, config)) return [];
    const chat = await groupOf(config, chatId);
    const group = isGroup || chat.participants.length > 1 ? chat : null;
    const to = group?.id ?? chat.participants[0];
    const text = textOf(message.parts);
    const fileNames = filesOf(message).map(({ name }) => name);
    if (to === undefined || (text === '' && fileNames.length === 0)) return [];
    const { id } = message;
    const about = { kind: 'own_message' as const, eventId: `${id}:own`, carrierMessageId: id };
    return [{ ...about, at, to, text, fileNames, ...(group && { group }) }];
  }

  /** What a message to a group does not say: its name, and who is in it. */
  async function groupOf(config: LinqConfig, id: string): Promise<InboundGroup> {
    const chat = readOk(await ask(config, `/chats/${encodeURIComponent(id.toWellFormed())}`), Chat);
    if (!chat) return { id, participants: [] };
    const participants = othersIn(chat, config);
    const name = chat.display_name?.trim() ?? '';
    const isNamed = name !== '' && !name.split(/,\s*/).every((part) => participants.includes(part));
    return { id, participants, ...(isNamed && { name }) };
  }

  const reachOf = async (config: LinqConfig, address: string): Promise<Exchange> =>
    api.call(config, '/v3/capability/check_imessage', {
      headers: headersOf(config),
      body: { address, from: config.fromNumber },
    });

  return {
    name: 'linq',
    channels: ['imessage', 'sms'],
    capabilities: (channel) =>
      channel === 'imessage'
        ? IMESSAGE_CAPABILITIES.filter((one) => one !== 'unsend' && one !== 'voice_notes')
        : ['attachments'],
    reactsWithEmoji: true,
    config: LinqConfig,
    callbackSecret: 'callbackSecret',
    servers: api.servers,
    timeoutMs: options.timeoutMs ?? HOSTED_TIMEOUT_MS,
    guide: GUIDE,

    async configureInbound(config, _lineId, callbackUrl) {
      const url = webhookUrl(config, callbackUrl);
      const listed = await ask(config, '/webhook-subscriptions');
      const list = readOk(listed, Subscriptions);
      if (!list) throw new Error(reasonOf(listed));
      const wanted = [...EVENTS, OWN_EVENT];
      if (list.subscriptions.some((one) => reportsTo(one, config, url, wanted))) return;
      // Linq takes a URL once, also if it reports nothing there.
      const known = list.subscriptions.find((one) => isOfLine(one.target_url, callbackUrl));
      const path = '/v3/webhook-subscriptions';
      const written = await api.call(config, known ? `${path}/${encodeURIComponent(known.id)}` : path, {
        headers: headersOf(config),
        method: known ? 'PUT' : 'POST',
        body: {
          target_url: url,
          subscribed_events: wanted,
          phone_numbers: [config.fromNumber],
          ...(known && { is_active: true }),
        },
      });
      if (!isOk(written)) throw new Error(reasonOf(written));
    },

    async send(config, message, signal) {
      const { group } = message;
      const chat = group ?? (await chatWith(config, message.to.address));
      // Nothing has been sent yet: somebody else may have answered, or nobody. The send tells what that means.
      const chatId = 'id' in chat ? chat.id : null;
      const recipients = group?.participants ?? [message.to.address];
      if (chatId === null && message.channel === 'imessage') {
        for (const recipient of recipients) {
          const reach = readOk(await reachOf(config, recipient), Available);
          if (reach?.available === false)
            return group ? { ...NO_IMESSAGE, reason: 'a participant has no iMessage' } : NO_IMESSAGE;
        }
      }
      const [path, body] =
        chatId === null
          ? ['/v3/chats', { from: config.fromNumber, to: recipients, message: contentOf(message) }]
          : [`/v3/chats/${encodeURIComponent(chatId)}/messages`, { message: contentOf(message) }];
      const limit = timeLimit(api.timeoutMs, signal);
      const request = { headers: headersOf(config), body, signal: limit };
      const outcome = sendOutcome(await api.send(config, path, request));
      // The idempotency key makes that safe, and shows what became of a response that was lost.
      return outcome.kind === 'unknown' && !limit.aborted
        ? keepUnknown(sendOutcome(await api.send(config, path, request)), outcome)
        : outcome;
    },

    async act(config, action, signal) {
      const request = await requestOf(config, action, chatWith);
      if ('kind' in request) return request;
      const { path, method, body } = request;
      const response = await api.call(config, path, {
        headers: headersOf(config),
        method,
        ...(body !== undefined && { body }),
        signal: timeLimit(api.timeoutMs, signal),
      });
      return actionOutcome(response);
    },

    /** A conversation is read back to the attempt: messages show no idempotency keys, so it is found by its text. */
    async reconcile(config, attempt) {
      const { group } = attempt;
      const chat = await (group ? chatWithGroup(config, group) : chatWith(config, attempt.to));
      if ('failure' in chat) return { kind: 'unreachable', reason: reasonOf(chat.failure) };
      const since = attempt.startedAt.getTime() - CLOCK_SKEW_MS;
      const messages: Message[] = [];
      let cursor: string | null = '';
      for (let page = 0; chat.id !== null && page < MAX_PAGES && cursor !== null; page += 1) {
        const response: Exchange = await ask(config, `/chats/${encodeURIComponent(chat.id)}/messages`, {
          limit: String(PAGE),
          ...(cursor !== '' && { cursor }),
        });
        const list = readOk(response, Messages);
        if (!list) return { kind: 'unreachable', reason: reasonOf(response) };
        messages.push(...list.messages.flatMap((raw) => Message.safeParse(raw).data ?? []));
        cursor = list.next_cursor ?? null;
      }
      const recent = messages.filter(
        ({ is_from_me: isOurs, created_at: at }) => isOurs && !(Date.parse(at ?? '') < since),
      );
      const isComplete = chat.id === null || cursor === null;
      const found = await findAttempt({ messages: recent, isComplete }, attempt, api.now());
      return found.kind === 'accepted' && group && chat.id !== null ? { ...found, groupId: chat.id } : found;
    },

    async checkAvailability(config, address): Promise<Availability> {
      if (normalizePhone(address, 'US') === null)
        return { status: 'unavailable', reason: 'not a phone number' };
      const response = await reachOf(config, address);
      const reach = readOk(response, Available);
      if (!reach) return { status: 'error', reason: reasonOf(response) };
      return reach.available
        ? { status: 'available' }
        : { status: 'unavailable', reason: NO_IMESSAGE.reason };
    },

    account: ({ apiKey, baseUrl, fromNumber }) => JSON.stringify([apiKey, baseUrl, fromNumber]),

    async probe(config) {
      const response = await ask(config, '/phone_numbers');
      const list = readOk(response, PhoneNumbers);
      if (!list) throw new Error(reasonOf(response));
      const check = numberCheck(config, list.phone_numbers);
      if (check.result === 'fail') throw new Error(check.text);
    },

    async *checkConnection(config, { callbackUrl, reachCallbacks }) {
      const response = await ask(config, '/phone_numbers');
      yield serverCheck(api.hostOf(config), response, 'baseUrl');
      if (response.error !== null) return;
      const list = readOk(response, PhoneNumbers);
      yield credentialsCheck(response, list !== null);
      if (!list) return;
      yield numberCheck(config, list.phone_numbers);
      if (callbackUrl !== null) {
        const known = readOk(await ask(config, '/webhook-subscriptions'), Subscriptions);
        yield subscriptionCheck(known, config, webhookUrl(config, callbackUrl));
      }
      yield { name: 'callback_address', ...(await reachCallbacks()) };
    },

    checkCallback: ({ callbackSecret }, head) => checkSecret(callbackSecret, head),

    async parseCallback(config, callback) {
      checkSecret(config.callbackSecret, callback);
      const now = api.now();
      const reported = LinqWebhook.parse(readJsonBody(callback.rawBody));
      const events = [
        ...(await ownMessage(config, reported, createdAt(reported, now))),
        ...eventsOf(config, reported, now),
      ];
      const complete = events.map(async (event) =>
        event.kind === 'reply' && event.group
          ? { ...event, group: await groupOf(config, event.group.id) }
          : event,
      );
      return sanitizeEvents(await Promise.all(complete), now);
    },

    openMedia: (_config, url, signal, from) => api.openMedia(url, signal, from),
    close: api.close,
  };
}

/** The participants of a chat besides the line. */
const othersIn = ({ handles }: Chat, { fromNumber }: LinqConfig): string[] =>
  (handles ?? []).flatMap(({ handle, is_me: isMe }) => (isMe || handle === fromNumber ? [] : [handle]));

const NO_IMESSAGE = { kind: 'unavailable', reason: 'the number has no iMessage' } as const;

/** A repeated request that fails proves nothing about the first one. */
const keepUnknown = (again: SendOutcome, first: SendOutcome): SendOutcome =>
  again.kind === 'accepted' ? again : first;

function reasonOf(response: Exchange): string {
  return failureReason(response, readJson(response, Failure)?.error.message);
}

function contentOf(message: OutboundMessage): Record<string, unknown> {
  const effect = message.effect && EFFECTS[message.effect];
  return {
    parts: [
      ...(message.text === '' ? [] : [{ type: 'text', value: message.text }]),
      ...message.attachments.map(({ url }) => ({ type: 'media', url })),
    ],
    idempotency_key: message.attemptId,
    preferred_service: PREFERRED[message.channel],
    ...(message.replyTo !== undefined && { reply_to: { message_id: message.replyTo } }),
    ...(effect && { effect }),
  };
}

function failureOf(response: Exchange): SendOutcome {
  const own = readJson(response, Failure);
  const code = own?.error.code;
  const text = reasonOf(response);
  const reason = code === undefined ? text : `${code}: ${text}`;
  const retryAfter = own?.error.retry_after;
  const failure = code === undefined ? undefined : FAILURES[code];
  if (failure === undefined)
    return failureOfLine(response, own !== null, reason) ?? { kind: 'refused', reason };
  const outcome = outcomeOfFailure(failure, reason);
  return outcome.kind === 'transient' && typeof retryAfter === 'number'
    ? { ...outcome, retryAfterMs: retryAfter * 1000 }
    : outcome;
}

function sendOutcome(response: Exchange): SendOutcome {
  const lost = unanswered(response, reasonOf(response));
  if (lost) return lost;
  if (!isOk(response)) return failureOf(response);
  const taken = readJson(response, SendResponse);
  if (!taken) return { kind: 'unknown', reason: reasonOf(response) };
  const { id, service } = 'chat' in taken ? taken.chat.message : taken.message;
  const transport = SERVICES[service ?? ''];
  const groupId = 'chat' in taken && taken.chat.is_group ? taken.chat.id : undefined;
  return {
    kind: 'accepted',
    carrierMessageId: id,
    ...(transport && { transport }),
    ...(groupId !== undefined && { groupId }),
  };
}

interface ActionRequest {
  path: string;
  method: 'POST' | 'PATCH' | 'DELETE';
  body?: unknown;
}

async function requestOf(
  config: LinqConfig,
  { action, to, carrierMessageId }: OutboundAction,
  chatWith: (config: LinqConfig, to: string) => Promise<{ id: string | null } | { failure: Exchange }>,
): Promise<ActionRequest | ActionOutcome> {
  const message = `/v3/messages/${encodeURIComponent(carrierMessageId ?? '')}`;
  switch (action.kind) {
    case 'reaction': {
      const type = action.reaction === 'emoji' ? 'custom' : action.reaction;
      const operation = action.removed ? 'remove' : 'add';
      const emoji = action.emoji === undefined ? {} : { custom_emoji: action.emoji };
      return { path: `${message}/reactions`, method: 'POST', body: { operation, type, ...emoji } };
    }
    case 'edit':
      return { path: message, method: 'PATCH', body: { text: action.text } };
    case 'unsend':
      return { kind: 'refused', reason: 'Linq cannot take a message back' };
    case 'typing':
    case 'read': {
      const chat = await chatWith(config, to);
      if ('failure' in chat) return { kind: 'transient', reason: reasonOf(chat.failure) };
      if (chat.id === null) return { kind: 'refused', reason: 'there is no conversation yet' };
      const path = `/v3/chats/${encodeURIComponent(chat.id)}`;
      if (action.kind === 'read') return { path: `${path}/read`, method: 'POST' };
      return { path: `${path}/typing`, method: action.on ? 'POST' : 'DELETE' };
    }
  }
}

function actionOutcome(response: Exchange): ActionOutcome {
  const lost = unanswered(response, reasonOf(response));
  if (!lost && isOk(response)) return { kind: 'accepted' };
  const failure = lost ?? failureOf(response);
  switch (failure.kind) {
    case 'transient':
    case 'unknown':
      return { kind: failure.kind, reason: failure.reason };
    case 'refused':
    case 'unavailable':
      return { kind: 'refused', reason: failure.reason };
    case 'accepted':
      return { kind: 'accepted' };
  }
}

async function findAttempt(
  { messages, isComplete }: { messages: readonly Message[]; isComplete: boolean },
  attempt: AttemptReference,
  now: Date,
): Promise<ReconcileOutcome> {
  const listed = await mapInTurns(messages, ({ id, parts, delivery_status: status }) => ({
    id,
    text: textOf(parts),
    reports: reportsOf(id, status ?? '', now),
  }));
  const result = await searchListing(
    { messages: listed, isComplete },
    {
      text: attempt.text,
      takenIds: attempt.takenIds,
      isRecordLost: attempt.startedBy > attempt.startedAt,
      isSettled: now.getTime() - attempt.startedBy.getTime() >= SETTLE_MS,
    },
  );
  if (result.kind !== 'found') return result;
  const { id: carrierMessageId, reports } = result.message;
  return { kind: 'accepted', carrierMessageId, ...(reports.length > 0 && { reports }) };
}

const textOf = (parts: z.infer<typeof Parts> | null | undefined): string =>
  (parts ?? [])
    .flatMap(({ type, value, fallback_text: fallback }) => (type === 'media' ? [] : value || fallback || []))
    .join('\n');

/** The ids of the same events in webhooks. */
function reportsOf(id: string, status: string, at: Date): CarrierEvent[] {
  const about = { carrierMessageId: id, at };
  const delivered = { kind: 'receipt', ...about, eventId: `${id}:delivered`, status: 'delivered' } as const;
  if (status === 'delivered') return [delivered];
  return status === 'read' ? [delivered, { kind: 'read', ...about, eventId: `${id}:read` }] : [];
}

function createdAt({ created_at: text }: LinqWebhook, now: Date): Date {
  const created = new Date(text ?? '');
  return Number.isNaN(created.getTime()) ? now : created;
}

const isOfNumber = ({ owner_handle: owner }: z.infer<typeof InChat>, { fromNumber }: LinqConfig): boolean =>
  !owner || owner.handle === fromNumber;

/** @throws ZodError */
function eventsOf(config: LinqConfig, reported: LinqWebhook, now: Date): CarrierEvent[] {
  const { event_id: eventId, event_type: type, data } = reported;
  const at = createdAt(reported, now);
  switch (type) {
    case 'message.delivered':
      return reportsOf(MessageEvent.parse(data).id, 'delivered', at);
    case 'message.read': {
      const { id, direction } = MessageEvent.parse(data);
      return direction === 'outbound' ? reportsOf(id, 'read', at).slice(1) : [];
    }
    case 'message.failed': {
      const { message_id: id, code, reason = 'failed' } = FailedEvent.parse(data);
      return [
        {
          kind: 'receipt',
          eventId: `${id}:failed`,
          carrierMessageId: id,
          at,
          status: 'failed',
          reason: typeof code === 'number' ? `${code}: ${reason}` : String(reason),
          ...receiptOfFailure(FAILURES[code ?? 0]),
        },
      ];
    }
    case 'message.received': {
      const message = MessageEvent.parse(data);
      const event = inboundEvent(message, at);
      // What an app of the phone has added is no message.
      const isEmpty = event.text === '' && event.attachments.length === 0;
      return isOfNumber(message.chat, config) && message.sender_handle && !isEmpty ? [event] : [];
    }
    case 'message.edited': {
      const { id, direction, part } = EditEvent.parse(data);
      return direction === 'inbound'
        ? [{ kind: 'edited', eventId, carrierMessageId: id, at, text: part.text ?? '' }]
        : [];
    }
    case 'reaction.added':
    case 'reaction.removed': {
      const event = ReactionEvent.parse(data);
      const from = event.from_handle?.handle ?? event.from;
      if (event.is_from_me || !from) return [];
      const tapback = TAPBACKS.find((one) => one === event.reaction_type);
      const emoji = event.custom_emoji ?? undefined;
      return [
        {
          kind: 'reaction',
          eventId,
          carrierMessageId: event.message_id,
          at,
          reaction: tapback ?? (event.reaction_type === 'sticker' ? 'sticker' : 'emoji'),
          ...(!tapback && emoji !== undefined && { emoji }),
          removed: type === 'reaction.removed',
          from,
        },
      ];
    }
    default:
      return [];
  }
}

const filesOf = ({ parts }: z.infer<typeof MessageEvent>) =>
  (parts ?? []).flatMap(({ type, url, filename, mime_type: contentType }) =>
    type === 'media' && url
      ? [{ url, contentType: contentType ?? null, name: filename ?? 'attachment' }]
      : [],
  );

function inboundEvent(
  message: z.infer<typeof MessageEvent>,
  at: Date,
): Extract<CarrierEvent, { kind: 'reply' }> {
  const replyTo = message.reply_to?.message_id;
  return {
    kind: 'reply',
    eventId: message.id,
    carrierMessageId: message.id,
    at,
    from: message.sender_handle?.handle ?? '',
    text: textOf(message.parts),
    attachments: filesOf(message),
    ...(replyTo && { replyTo }),
    autoReply: false,
    ...(message.chat.is_group && message.chat.id && { group: { id: message.chat.id, participants: [] } }),
  };
}

/** With the version of the events, by which Linq chooses their form. */
function webhookUrl({ callbackSecret }: LinqConfig, callbackUrl: string): string {
  const url = new URL(withSecret(callbackUrl, callbackSecret));
  url.searchParams.set('version', WEBHOOK_VERSION);
  return url.href;
}

function credentialsCheck(response: Exchange, isAccepted: boolean): ConnectionCheck {
  if (isAccepted) return passed('credentials', 'Linq accepts the token.');
  const reason = reasonOf(response);
  return response.status === 401 || response.status === 403
    ? failed('credentials', `Linq refuses the token: ${reason}.`, 'apiKey')
    : unknown('credentials', `Linq did not say whether the token is right: ${reason}.`);
}

const numberCheck = (
  { fromNumber }: LinqConfig,
  numbers: readonly { phone_number: string }[],
): ConnectionCheck =>
  numbers.some(({ phone_number: number }) => number === fromNumber)
    ? passed('sender', `${fromNumber} belongs to the account.`)
    : failed('sender', `The account has no number ${fromNumber}.`, 'fromNumber');

/** Whether a subscription reports all that a line needs to its URL. What is not shown is no failure. */
const reportsTo = (
  subscription: Subscription,
  { fromNumber }: LinqConfig,
  url: string,
  needed: readonly string[] = EVENTS,
): boolean => {
  const { is_active: isActive, subscribed_events: events, phone_numbers: numbers } = subscription;
  return (
    subscription.target_url === url &&
    isActive !== false &&
    needed.every((event) => events?.includes(event) ?? true) &&
    (!numbers?.length || numbers.includes(fromNumber))
  );
};

function subscriptionCheck(
  known: z.infer<typeof Subscriptions> | null,
  config: LinqConfig,
  url: string,
): ConnectionCheck {
  if (!known) return unknown('callback', 'Linq did not list its webhook subscriptions.');
  if (known.subscriptions.some((one) => reportsTo(one, config, url)))
    return passed('callback', 'Replies are reported to this line.');
  return failed(
    'callback',
    known.subscriptions.some(({ target_url: target }) => target === url)
      ? 'The webhook subscription of this line is not active, or lacks events or the number: connect it again.'
      : 'Linq does not report replies to this line: connect it again.',
  );
}
