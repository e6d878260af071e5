import { z } from 'zod';
import { type CarrierEvent, type Reaction, TAPBACKS } from '#domain/carrier-event.ts';
import { BlueBubblesMessage, isGroupMessage, TIMED_OUT } from './bluebubbles-protocol.ts';
import { readJsonBody } from './callback-secret.ts';

const Event = z.object({ type: z.string(), data: z.unknown() });

/**
 * Parses a webhook call. The server has no event ids and may report the same event twice, so event ids are derived
 * from the message's id.
 * @param baseUrl the server's URL, for the URLs of files.
 * @throws ZodError, Unreadable
 */
export function readBlueBubblesEvent(rawBody: string, baseUrl: string, now: Date): CarrierEvent[] {
  const { type, data } = Event.parse(readJsonBody(rawBody));
  if (!['new-message', 'updated-message', 'message-send-error'].includes(type)) return [];
  const message = BlueBubblesMessage.parse(data);
  if (type === 'message-send-error') return sendError(message, now);
  if (message.isFromMe) return receipts(message);
  return type === 'new-message' ? inbound(message, baseUrl, now) : [];
}

/** A timeout is not final: the message may have been sent. */
function sendError({ guid, error }: BlueBubblesMessage, at: Date): CarrierEvent[] {
  if (!error || error === TIMED_OUT) return [];
  return [
    {
      kind: 'receipt',
      eventId: `${guid}:failed`,
      carrierMessageId: guid,
      status: 'failed',
      reason: `iMessage error ${error}`,
      at,
    },
  ];
}

function receipts({ guid, dateDelivered, dateRead }: BlueBubblesMessage): CarrierEvent[] {
  const events: CarrierEvent[] = [];
  const about = { carrierMessageId: guid };
  if (dateDelivered) {
    events.push({
      kind: 'receipt',
      eventId: `${guid}:delivered`,
      ...about,
      status: 'delivered',
      at: new Date(dateDelivered),
    });
  }
  if (dateRead) events.push({ kind: 'read', eventId: `${guid}:read`, ...about, at: new Date(dateRead) });
  return events;
}

function inbound(message: BlueBubblesMessage, baseUrl: string, now: Date): CarrierEvent[] {
  const { guid, handle, itemType, threadOriginatorGuid: replyTo } = message;
  // Group messages are ignored, as are items that are not messages, such as a changed group name.
  if (!handle || itemType !== 0 || isGroupMessage(message)) return [];
  const about = {
    eventId: guid,
    at: message.dateCreated ? new Date(message.dateCreated) : now,
    from: handle.address,
  };
  const target = message.associatedMessageGuid;
  if (target && message.associatedMessageType) {
    const reaction = readReaction(message.associatedMessageType);
    return reaction ? [{ kind: 'reaction', ...about, ...reaction, carrierMessageId: bareGuid(target) }] : [];
  }
  const attachments = (message.attachments ?? []).map((file) => ({
    name: file.transferName ?? 'attachment',
    contentType: file.mimeType ?? null,
    url: attachmentUrl(baseUrl, file.guid),
  }));
  // The placeholder for a file in the text.
  const text = (message.text ?? '').replaceAll('\uFFFC', '').trim();
  if (text === '' && attachments.length === 0) return [];
  return [
    {
      kind: 'reply',
      ...about,
      carrierMessageId: guid,
      text,
      attachments,
      autoReply: false,
      ...(replyTo && { replyTo }),
    },
  ];
}

const attachmentUrl = (baseUrl: string, guid: string): string =>
  `${baseUrl.replace(/\/$/, '')}/api/v1/attachment/${encodeURIComponent(guid.toWellFormed())}/download`;

/** `p:0/<guid>` is a part of a message, `bp:<guid>` a bubble. */
const bareGuid = (target: string): string => target.replace(/^(p:\d+\/|bp:)/, '');

/** `love` and `-love`, or Apple's numbers: from 2000 on for added, from 3000 on for removed reactions. */
function readReaction(type: string | number): { reaction: Reaction; removed: boolean } | null {
  const code = Number(type);
  if (Number.isInteger(code)) {
    const reaction = TAPBACKS[code % 1000];
    return reaction && code < 4000 && code >= 2000 ? { reaction, removed: code >= 3000 } : null;
  }
  const text = String(type);
  const reaction = TAPBACKS.find((name) => text === name || text === `-${name}`);
  return reaction ? { reaction, removed: text.startsWith('-') } : null;
}
