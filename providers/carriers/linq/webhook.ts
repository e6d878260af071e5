import { z } from 'zod';
import { readable } from '#domain/base/bounded-schema.ts';
import {
  type CarrierEvent,
  type CarrierReport,
  sanitizeEvents,
  TAPBACKS,
} from '#domain/lines/carrier-event.ts';
import { readJsonBody, withSecret } from '../callback-secret.ts';
import { receiptOfFailure } from '../carrier-failure.ts';
import { Explanation, readOk } from '../http-response.ts';
import { FAILURES, type LinqApi, type LinqConfig } from './api.ts';
import { contactIn, groupOf } from './chats.ts';
import { Parts, reportsOf, textOf } from './message.ts';

/** The version of webhooks that is read, and what they are about. */
const WEBHOOK_VERSION = '2026-02-03';
export const EVENTS = [
  'message.received',
  'message.delivered',
  'message.read',
  'message.failed',
  'message.edited',
  'reaction.added',
  'reaction.removed',
];
/** What is reported about the line's own messages, also those that somebody has typed at Linq. A subscription without it reports replies. */
export const OWN_EVENT = 'message.sent';
/** A contact begins or ends to type. So do subscriptions without these. */
export const TYPING_EVENTS = ['chat.typing_indicator.started', 'chat.typing_indicator.stopped'] as const;

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
  chat: readable(InChat),
  direction: readable(z.string()),
  sender_handle: readable(Handle),
  parts: readable(Parts),
  reply_to: readable(z.object({ message_id: readable(z.string()) })),
  service: readable(z.string()),
  /** Of messages of the API. */
  idempotency_key: readable(z.string()),
});
const EditEvent = MessageEvent.extend({
  part: z.object({ index: readable(z.int()), text: readable(z.string()) }),
});
const EditedMessage = z.object({ parts: Parts });
const FailedEvent = z.object({
  message_id: z.string().min(1),
  code: readable(z.int()),
  reason: readable(Explanation),
});
const TypingEvent = z.object({ chat_id: z.string().min(1) });
const ReactionEvent = z.object({
  message_id: z.string().min(1),
  part_index: readable(z.int().nonnegative()),
  is_from_me: z.boolean(),
  reaction_type: z.string(),
  custom_emoji: readable(z.string()),
  from_handle: readable(Handle),
  /** Of older reports. */
  from: readable(z.string().min(1)),
});

/** With the version of the events, by which Linq chooses their form. */
export function webhookUrl({ callbackSecret }: LinqConfig, callbackUrl: string): string {
  const url = new URL(withSecret(callbackUrl, callbackSecret));
  url.searchParams.set('version', WEBHOOK_VERSION);
  return url.href;
}

/** @throws ZodError, Unreadable */
export async function readWebhook(
  api: LinqApi,
  config: LinqConfig,
  rawBody: string,
): Promise<CarrierReport[]> {
  const now = api.now();
  const reported = LinqWebhook.parse(readJsonBody(rawBody));
  if (TYPING_EVENTS.some((type) => type === reported.event_type))
    return sanitizeEvents(await typing(api, config, reported, now), now);
  const at = createdAt(reported, now);
  const events = [
    ...(await ownMessage(api, config, reported, at)),
    ...(await editedMessage(api, config, reported, at)),
    ...eventsOf(config, reported, at),
  ];
  const complete = events.map(async (event) =>
    event.kind === 'reply' && event.group
      ? { ...event, group: await groupOf(api, config, event.group.id) }
      : event,
  );
  return sanitizeEvents(await Promise.all(complete), now);
}

/** Linq names only the chat. In a group, nobody knows who types. */
async function typing(
  api: LinqApi,
  config: LinqConfig,
  { data, event_id: eventId, event_type: type }: LinqWebhook,
  at: Date,
): Promise<CarrierReport[]> {
  const from = await contactIn(api, config, TypingEvent.parse(data).chat_id);
  return from === null ? [] : [{ kind: 'typing', eventId, at, from, isOn: type === TYPING_EVENTS[0] }];
}

/** A message of the line that no program has sent: somebody has typed it. Messages do not name their recipient. */
async function ownMessage(
  api: LinqApi,
  config: LinqConfig,
  { data, event_type: type }: LinqWebhook,
  at: Date,
) {
  if (type !== OWN_EVENT && type !== 'message.delivered') return [];
  const message = MessageEvent.safeParse(data).data;
  if (!message) return [];
  const { id: chatId, is_group: isGroup } = message.chat ?? {};
  const isTyped = message.direction === 'outbound' && !message.idempotency_key;
  if (!isTyped || !chatId || !isOfNumber(message.chat, config)) return [];
  const chat = await groupOf(api, config, chatId);
  const group = isGroup || chat.participants.length > 1 ? chat : null;
  const to = group?.id ?? chat.participants[0];
  const text = textOf(message.parts);
  const fileNames = filesOf(message).map(({ name }) => name);
  if (to === undefined || (text === '' && fileNames.length === 0)) return [];
  const { id } = message;
  const about = { kind: 'own_message' as const, eventId: `${id}:own`, carrierMessageId: id };
  return [{ ...about, at, to, text, fileNames, ...(group && { group }) }];
}

/** A report of an edit has the text of one part. The message itself has the others, which a contact wrote before and after a file. */
async function editedMessage(
  { ask }: LinqApi,
  config: LinqConfig,
  { data, event_id: eventId, event_type: type }: LinqWebhook,
  at: Date,
): Promise<CarrierEvent[]> {
  if (type !== 'message.edited') return [];
  const { id, direction, part } = EditEvent.parse(data);
  if (direction !== 'inbound') return [];
  const shown = readOk(
    await ask(config, `/v3/messages/${encodeURIComponent(id.toWellFormed())}`),
    EditedMessage,
  );
  const isAll = !shown?.parts.length;
  const text = isAll
    ? (part.text ?? '')
    : textOf(shown.parts.map((one, index) => (index === part.index ? { ...one, value: part.text } : one)));
  return [{ kind: 'edited', eventId, carrierMessageId: id, at, text }];
}

function createdAt({ created_at: text }: LinqWebhook, now: Date): Date {
  const created = new Date(text ?? '');
  return Number.isNaN(created.getTime()) ? now : created;
}

const isOfNumber = (chat: z.infer<typeof InChat> | null | undefined, { fromNumber }: LinqConfig): boolean =>
  !chat?.owner_handle || chat.owner_handle.handle === fromNumber;

/** @throws ZodError */
function eventsOf(config: LinqConfig, reported: LinqWebhook, at: Date): CarrierEvent[] {
  const { event_id: eventId, event_type: type, data } = reported;
  switch (type) {
    case 'message.delivered':
      return reportsOf(MessageEvent.parse(data), 'delivered', at);
    case 'message.read': {
      const message = MessageEvent.parse(data);
      return message.direction === 'outbound' ? reportsOf(message, 'read', at).slice(1) : [];
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
    case 'reaction.added':
    case 'reaction.removed': {
      const event = ReactionEvent.parse(data);
      const from = event.from_handle?.handle ?? event.from;
      if (event.is_from_me || !from) return [];
      const tapback = TAPBACKS.find((one) => one === event.reaction_type);
      const emoji = event.custom_emoji ?? undefined;
      const part = event.part_index ?? 0;
      return [
        {
          kind: 'reaction',
          eventId,
          carrierMessageId: event.message_id,
          at,
          ...(part > 0 && { part }),
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
    ...(message.chat?.is_group && message.chat.id && { group: { id: message.chat.id, participants: [] } }),
  };
}
