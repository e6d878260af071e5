import { z } from 'zod';
import { readable, readableOf, numeric } from '#domain/base/bounded-schema.ts';
import { mayBeSameNumber } from '#domain/base/phone.ts';
import { type InboundGroup, MAX_FILES } from '#domain/lines/carrier-event.ts';
import { MAX_PARTICIPANTS } from '#domain/inbox/group.ts';
import { Explanation } from '../http-response.ts';

/** A message is in one conversation, except while systems are migrated. */
const MAX_CHATS = 20;

const Chat = z.object({
  guid: z.string(),
  /** Of a group; empty: it has none. */
  displayName: readable(z.string()),
  /** Of a group. Webhook calls may omit them. */
  participants: readable(readableOf(z.object({ address: z.string().min(1) }), MAX_PARTICIPANTS)),
});

/**
 * The fields of the BlueBubbles server's responses and events that are used (server 1.9, REST API v1). Only what a message cannot do without
 * must be in the expected form: another field that is not must not cost the words of a contact.
 */
export const BlueBubblesMessage = z.object({
  guid: z.string().min(1),
  tempGuid: readable(z.string()),
  text: z.string().nullish(),
  /** The bold first line that Messages can show above the text. */
  subject: readable(z.string()),
  error: readable(numeric),
  isFromMe: z
    .union([z.boolean(), z.literal([0, 1])])
    .nullish()
    .transform(Boolean),
  isDelivered: readable(z.boolean()),
  /** Responses have it, webhook calls do not. */
  isAutoReply: readable(z.boolean()),
  /** Not 0: no message, but a note about the conversation. */
  itemType: readable(numeric).transform((type) => type ?? 0),
  /** Milliseconds. */
  dateCreated: readable(numeric),
  dateDelivered: readable(numeric),
  dateRead: readable(numeric),
  dateEdited: readable(numeric),
  dateRetracted: readable(numeric),
  /** 0 if the message was unsent. Null before macOS 13. */
  partCount: readable(numeric),
  balloonBundleId: readable(z.string()),
  associatedMessageGuid: readable(z.string()),
  associatedMessageType: readable(z.union([z.string(), z.number()])),
  associatedMessageEmoji: readable(z.string()),
  threadOriginatorGuid: readable(z.string()),
  handle: readable(z.object({ address: z.string(), service: readable(z.string()) })),
  chats: readable(readableOf(Chat, MAX_CHATS)),
  attachments: readable(
    readableOf(
      z.object({
        guid: z.string(),
        mimeType: readable(z.string()),
        transferName: readable(z.string()),
        /** Responses have it, webhook calls do not. */
        hideAttachment: readable(z.boolean()),
      }),
      MAX_FILES,
    ),
  ),
});
export type BlueBubblesMessage = z.infer<typeof BlueBubblesMessage>;

export const envelope = <T extends z.ZodType>(data: T) => z.object({ data });

/** What the server says of everything that it did; a page of somebody in front of it does not. */
export const SuccessResponse = z.object({ status: z.int(), message: z.string() });

export const ErrorResponse = z.object({
  status: readable(z.int()),
  message: readable(Explanation),
  error: readable(z.object({ type: readable(z.string()), message: readable(Explanation) })),
  data: readable(BlueBubblesMessage.pick({ error: true })),
});

/** Others also respond with a `message`, for example an API gateway, or with an `error` that has a type. */
export const isOwnError = (body: z.infer<typeof ErrorResponse> | null): boolean =>
  typeof body?.error?.type === 'string' && typeof body.status === 'number';

/** Apple's codes in a message's `error`. */
export const NOT_REGISTERED = 22;
export const TIMED_OUT = 4;

/** `iMessage;-;+14155550123` or `SMS;-;…`. Newer systems also use `any;-;…` for the same conversation. */
export const chatGuid = (channel: string, address: string): string =>
  `${channel === 'sms' ? 'SMS' : 'iMessage'};-;${address}`;

/**
 * Whether a message may belong to the conversation with an address, under any of its GUIDs: these can omit the country code of a number.
 * So may one that names neither a contact nor a conversation.
 */
export function isChatWith(message: BlueBubblesMessage, address: string): boolean {
  if (isGroupMessage(message)) return false;
  const names = [message.handle?.address, ...(message.chats ?? []).map(({ guid }) => guid.split(';').at(-1))];
  const known = names.filter((name) => typeof name === 'string' && name !== '');
  return known.length === 0 || known.some((name) => isSameAddress(name ?? '', address));
}

/** Whether a message may belong to a group: one that is not known yet has the same participants, or the server does not name any. */
export function isInGroup(
  message: BlueBubblesMessage,
  { id, participants }: { id: string | null; participants: readonly string[] },
): boolean {
  const found = groupOf(message);
  if (!found) return false;
  // Newer systems use `any;+;…` for the same conversation.
  if (id !== null) return found.id.split(';').at(-1) === id.split(';').at(-1);
  const { participants: others } = found;
  return (
    others.length === 0 ||
    (others.length === participants.length &&
      others.every((other) => participants.some((participant) => isSameAddress(other, participant))))
  );
}

const isSameAddress = (a: string, b: string): boolean =>
  a.includes('@') || b.includes('@') ? a.toLowerCase() === b.toLowerCase() : mayBeSameNumber(a, b);

/**
 * The other side of a direct conversation: the sender of an inbound message, or the recipient of one of ours. Messages does not always
 * store a handle; then the conversation names it. Null: neither does.
 */
export function contactOf({ handle, chats }: Pick<BlueBubblesMessage, 'handle' | 'chats'>): string | null {
  const direct = (chats ?? []).find(({ guid }) => guid.includes(';-;'));
  const name = handle?.address || direct?.guid.split(';-;').at(-1) || '';
  // As Apple's other programs name the same people.
  return name.replace(/^(?:tel|mailto):/i, '') || null;
}

/** Whether a message is a reaction to another one. */
export const isTapback = ({ associatedMessageGuid, associatedMessageType }: BlueBubblesMessage): boolean =>
  Boolean(associatedMessageGuid) && Boolean(associatedMessageType) && associatedMessageType !== '0';

/** The text as it was written, without the placeholders of files. */
export const textOf = ({ subject, text }: Pick<BlueBubblesMessage, 'subject' | 'text'>): string =>
  [subject, text]
    .map((part) => (part ?? '').replaceAll('\uFFFC', '').trim())
    .filter((part) => part !== '')
    .join('\n');

/** The server's error texts for requests that it refuses before it passes anything to Messages. */
export const isPrivateApiMissing = (text: string): boolean =>
  /private api( helper)? is not (connected|enabled)/i.test(text);

/** GUIDs of group conversations contain `;+;`. */
export const isGroupGuid = (guid: string): boolean => guid.includes(';+;');

export const isGroupMessage = (message: BlueBubblesMessage): boolean =>
  (message.chats ?? []).some(({ guid }) => isGroupGuid(guid));

/** The group conversation of a message; undefined: it is of none. */
export function groupOf({ chats }: BlueBubblesMessage): InboundGroup | undefined {
  const chat = (chats ?? []).find(({ guid }) => isGroupGuid(guid));
  return (
    chat && {
      id: chat.guid,
      ...(chat.displayName && { name: chat.displayName }),
      participants: (chat.participants ?? []).map(({ address }) => address),
    }
  );
}
