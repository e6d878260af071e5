import { z } from 'zod';
import {
  type CarrierEvent,
  MAX_FILES,
  type Reaction,
  type ReportedTyping,
  TAPBACKS,
} from '#domain/lines/carrier-event.ts';
import {
  BlueBubblesMessage,
  contactOf,
  groupOf,
  isTapback,
  NOT_REGISTERED,
  textOf,
  TIMED_OUT,
} from './protocol.ts';
import { readJsonBody } from '../callback-secret.ts';

const MESSAGE_EVENTS = ['new-message', 'updated-message', 'message-send-error'] as const;
/** The server has got another address: some of its proxies give it one at each start. */
const NEW_SERVER = 'new-server';
/** What a line needs. */
export const EVENTS: readonly string[] = [...MESSAGE_EVENTS, NEW_SERVER];
const TYPING = 'typing-indicator';
/** What a line subscribes to. Those of earlier releases report no typing, and work. */
export const WANTED_EVENTS: readonly string[] = [...EVENTS, TYPING];
/** The server reports old messages as new when it restarts. Those since the connection are in its list as well. */
const NEWS_MS = 3_600_000;

const Event = z.object({ type: z.string(), data: z.unknown() });
const Typing = z.object({ display: z.boolean(), guid: z.string() });

/**
 * Parses a webhook call.
 * @returns the message that it is about, and whether it may be one that a person has sent from the phone or the Mac; null if it is about
 * something else.
 * @throws ZodError, Unreadable
 */
export function readBlueBubblesEvent(
  rawBody: string,
  now: Date,
): { message: BlueBubblesMessage; mayBeByHand: boolean } | null {
  const { type, data } = Event.parse(readJsonBody(rawBody));
  if (!MESSAGE_EVENTS.some((known) => known === type)) return null;
  const message = BlueBubblesMessage.parse(data);
  const isNews = (message.dateCreated ?? 0) > now.getTime() - NEWS_MS;
  // The reference is ours.
  return { message, mayBeByHand: type === 'new-message' && !message.tempGuid && isNews };
}

/** @returns what a webhook call says of a contact's typing: nothing of a group's, in which nobody knows who types. */
export function readTyping(rawBody: string, at: Date): ReportedTyping[] {
  const { type, data } = Event.parse(readJsonBody(rawBody));
  const typing = type === TYPING ? Typing.safeParse(data).data : undefined;
  const [, from] = /^[^;]+;-;(.+)$/s.exec(typing?.guid ?? '') ?? [];
  if (!typing || from === undefined) return [];
  return [{ kind: 'typing', eventId: `${typing.guid}:typing`, at, from, isOn: typing.display }];
}

/** @returns the address that a webhook call announces; null if it announces none. */
export function readNewServer(rawBody: string): string | null {
  const { type, data } = Event.parse(readJsonBody(rawBody));
  const url = type === NEW_SERVER ? z.url().safeParse(data).data : undefined;
  return url === undefined ? null : new URL(url).href.replace(/\/$/, '');
}

/**
 * What a message says, in a webhook call or in a list. The server has no event ids and reports the same event twice, or not at
 * all, so every event can be derived from the message as it is, and its id from the message's.
 * @param baseUrl the server's URL, for the URLs of files.
 */
export function eventsOf(
  message: BlueBubblesMessage,
  { baseUrl, mayBeByHand, now }: { baseUrl: string; mayBeByHand: boolean; now: Date },
): CarrierEvent[] {
  if (!message.isFromMe) return inbound(message, baseUrl, now);
  return [...(mayBeByHand ? ownMessage(message, now) : []), ...receipts(message, now)];
}

function ownMessage(message: BlueBubblesMessage, now: Date): CarrierEvent[] {
  const { guid, dateCreated, error } = message;
  const group = groupOf(message);
  const to = group?.id ?? contactOf(message);
  const text = textOf(message);
  const fileNames = filesOf(message).map(({ transferName }) => transferName ?? 'attachment');
  const isEmpty = text === '' && fileNames.length === 0;
  if (!to || isEmpty || error || message.itemType !== 0 || isTapback(message) || isUnsent(message)) return [];
  const at = dateCreated ? new Date(dateCreated) : now;
  const about = { kind: 'own_message', eventId: `${guid}:own`, carrierMessageId: guid } as const;
  return [{ ...about, at, to, text, fileNames, ...(group && { group }) }];
}

/** Only newer systems store when; the others leave nothing of the message. */
export const isUnsent = ({ partCount, dateRetracted, dateEdited, ...message }: BlueBubblesMessage): boolean =>
  partCount === 0 ||
  Boolean(dateRetracted) ||
  (Boolean(dateEdited) && textOf(message) === '' && !message.attachments?.length);

function receipts(message: BlueBubblesMessage, now: Date): CarrierEvent[] {
  const { guid, dateDelivered, dateRead, isDelivered, error } = message;
  const about = { carrierMessageId: guid };
  const events: CarrierEvent[] = [];
  // SMS can be reported as failed although they were delivered. A timeout is not final: the message may have been sent.
  if (error && error !== TIMED_OUT && !dateDelivered && !isDelivered) {
    const failed = {
      kind: 'receipt',
      eventId: `${guid}:failed`,
      ...about,
      status: 'failed',
      at: now,
    } as const;
    events.push(
      error === NOT_REGISTERED
        ? { ...failed, reason: 'not on iMessage', unavailable: true }
        : { ...failed, reason: `iMessage error ${error}` },
    );
  }
  // Some messages are delivered at no known time.
  if (dateDelivered || isDelivered) {
    events.push({
      kind: 'receipt',
      eventId: `${guid}:delivered`,
      ...about,
      status: 'delivered',
      at: dateDelivered ? new Date(dateDelivered) : now,
    });
  }
  if (dateRead) events.push({ kind: 'read', eventId: `${guid}:read`, ...about, at: new Date(dateRead) });
  return events;
}

function inbound(message: BlueBubblesMessage, baseUrl: string, now: Date): CarrierEvent[] {
  const { guid, itemType, threadOriginatorGuid: replyTo } = message;
  const group = groupOf(message);
  // A group names no single contact.
  const from = contactOf({ ...message, ...(group && { chats: [] }) });
  // Items that are not messages are ignored, such as a changed group name.
  if (!from || itemType !== 0) return [];
  const about = {
    eventId: guid,
    at: message.dateCreated ? new Date(message.dateCreated) : now,
    from,
  };
  if (isTapback(message)) {
    const reaction = readReaction(message);
    const target = targetOf(message);
    return reaction ? [{ kind: 'reaction', ...about, ...reaction, ...target }] : [];
  }
  const { dateEdited, dateRetracted } = message;
  const changedAt = new Date(dateEdited || dateRetracted || now);
  if (isUnsent(message))
    return [{ kind: 'unsent', eventId: `${guid}:unsent`, carrierMessageId: guid, at: changedAt }];
  const text = textOf(message);
  const subject = textOf({ subject: message.subject });
  const attachments = filesOf(message).map((file) => ({
    name: file.transferName ?? 'attachment',
    contentType: file.mimeType ?? null,
    url: attachmentUrl(baseUrl, file.guid),
  }));
  if (text === '' && attachments.length === 0) return [];
  const reply = {
    kind: 'reply',
    ...about,
    carrierMessageId: guid,
    text,
    // Also by itself, because words that opt out count there.
    ...(subject !== '' && { subject }),
    attachments,
    autoReply: message.isAutoReply ?? false,
    ...(replyTo && { replyTo }),
    ...(group && { group }),
  } as const;
  if (!dateEdited) return [reply];
  const edit = { eventId: `${guid}:edited:${dateEdited}`, at: changedAt };
  return [reply, { kind: 'edited', ...edit, carrierMessageId: guid, text }];
}

const LINK_PREVIEW = 'com.apple.messages.URLBalloonProvider';

/** The files that the contact has sent. Phones add files of their own: previews of links, and the data of plug-ins. */
const filesOf = ({ attachments, balloonBundleId }: BlueBubblesMessage) =>
  balloonBundleId === LINK_PREVIEW
    ? []
    : (attachments ?? []).filter(
        ({ hideAttachment, transferName }) =>
          !hideAttachment && !/\.pluginPayloadAttachment$/i.test(transferName ?? ''),
      );

const attachmentUrl = (baseUrl: string, guid: string): string =>
  `${baseUrl.replace(/\/$/, '')}/api/v1/attachment/${encodeURIComponent(guid.toWellFormed())}/download`;

/** What a reaction is to: `p:0/<guid>` is a part of a message, `bp:<guid>` a bubble. */
function targetOf({ associatedMessageGuid: target }: BlueBubblesMessage): {
  carrierMessageId: string;
  part?: number;
} {
  const { part, guid = '' } = /^(?:p:(?<part>\d+)\/|bp:)?(?<guid>.*)$/s.exec(target ?? '')?.groups ?? {};
  const number = Number(part ?? 0);
  return { carrierMessageId: guid, ...(number > 0 && number <= MAX_FILES && { part: number }) };
}

/** Apple's numbers after those of the six tapbacks. A sticker that is put on a message has one of its own. */
const EMOJI_CODE = 6;
const STICKER_CODE = 7;
const PLACED_STICKER = 1000;

type Read = { reaction: Reaction; emoji?: string; removed: boolean };

/** Names such as `love` and `-love`, or Apple's numbers: from 2000 on for added, from 3000 on for removed reactions. */
function readReaction(message: BlueBubblesMessage): Read | null {
  const type = String(message.associatedMessageType);
  const code = Number(type);
  const isCode = Number.isInteger(code);
  const removed = isCode ? code >= 3000 : type.startsWith('-');
  const name = isCode ? reactionOf(code) : Reactions.safeParse(type.replace(/^-/, '')).data;
  if (!name) return null;
  const emoji =
    name === 'emoji' ? (message.associatedMessageEmoji ?? emojiIn(message.text ?? '')) : undefined;
  return { reaction: name, ...(emoji && { emoji }), removed };
}

/** Whether a message is such a reaction to another one. */
export function isReaction(
  message: BlueBubblesMessage,
  to: string,
  { reaction, removed }: { reaction: Reaction; removed: boolean },
): boolean {
  const read = isTapback(message) ? readReaction(message) : null;
  return read?.reaction === reaction && read.removed === removed && targetOf(message).carrierMessageId === to;
}

const Reactions = z.enum([...TAPBACKS, 'emoji', 'sticker']);

function reactionOf(code: number): Reaction | undefined {
  if (code === PLACED_STICKER) return 'sticker';
  if (code < 2000 || code >= 4000) return undefined;
  const index = code % 1000;
  if (index === EMOJI_CODE) return 'emoji';
  return index === STICKER_CODE ? 'sticker' : TAPBACKS[index];
}

/** The text of such a reaction is `Reacted 🔥 to “…”` in the language of the Mac. The quoted text may contain other emoji. */
const emojiIn = (text: string): string | undefined =>
  /\p{RGI_Emoji}/v.exec(text.split(/[“„«"「]/)[0] ?? '')?.[0];
