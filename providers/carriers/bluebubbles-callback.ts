import { z } from 'zod';
import { type CarrierEvent, type Reaction, TAPBACKS } from '#domain/carrier-event.ts';
import {
  BlueBubblesMessage,
  contactOf,
  isGroupMessage,
  isTapback,
  NOT_REGISTERED,
  textOf,
  TIMED_OUT,
} from './bluebubbles-protocol.ts';
import { readJsonBody } from './callback-secret.ts';

export const MESSAGE_EVENTS = ['new-message', 'updated-message', 'message-send-error'] as const;

const Event = z.object({ type: z.string(), data: z.unknown() });

/**
 * Parses a webhook call.
 * @returns the message that it is about; null if it is about something else.
 * @throws ZodError, Unreadable
 */
export function readBlueBubblesEvent(rawBody: string): BlueBubblesMessage | null {
  const { type, data } = Event.parse(readJsonBody(rawBody));
  return MESSAGE_EVENTS.some((known) => known === type) ? BlueBubblesMessage.parse(data) : null;
}

/**
 * What a message says, in a webhook call or in a list. The server has no event ids and reports the same event twice, or not at
 * all, so every event can be derived from the message as it is, and its id from the message's.
 * @param baseUrl the server's URL, for the URLs of files.
 */
export function eventsOf(message: BlueBubblesMessage, baseUrl: string, now: Date): CarrierEvent[] {
  return message.isFromMe ? receipts(message, now) : inbound(message, baseUrl, now);
}

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
  const isGroup = isGroupMessage(message);
  // A group names no single contact.
  const from = isGroup ? (message.handle?.address ?? '') : contactOf(message);
  // Items that are not messages are ignored, such as a changed group name.
  if (!from || itemType !== 0) return [];
  const about = {
    eventId: guid,
    at: message.dateCreated ? new Date(message.dateCreated) : now,
    from,
  };
  if (isTapback(message)) {
    const reaction = isGroup ? null : readReaction(message);
    const carrierMessageId = bareGuid(message.associatedMessageGuid ?? '');
    return reaction ? [{ kind: 'reaction', ...about, ...reaction, carrierMessageId }] : [];
  }
  const text = textOf(message);
  const attachments = filesOf(message).map((file) => ({
    name: file.transferName ?? 'attachment',
    contentType: file.mimeType ?? null,
    url: attachmentUrl(baseUrl, file.guid),
  }));
  if (text === '' && attachments.length === 0) return [];
  return [
    {
      kind: 'reply',
      ...about,
      carrierMessageId: guid,
      text,
      attachments,
      autoReply: message.isAutoReply ?? false,
      ...(replyTo && { replyTo }),
      ...(isGroup && { group: true }),
    },
  ];
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

/** `p:0/<guid>` is a part of a message, `bp:<guid>` a bubble. */
const bareGuid = (target: string): string => target.replace(/^(p:\d+\/|bp:)/, '');

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
