import { z } from 'zod';
import { type CarrierEvent, REACTIONS, type Reaction } from '#domain/carrier-event.ts';
import { BlueBubblesMessage, isGroupMessage, TIMED_OUT } from './bluebubbles-protocol.ts';
import { readJsonBody } from './callback-secret.ts';

const Event = z.object({ type: z.string(), data: z.unknown() });

/**
 * The events of a webhook call. The server repeats none and may tell the same twice: ids are made of the
 * message's, so that the same fact has the same id.
 * @param baseUrl the server's, for the addresses of files.
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

/** A timeout is not the end of a message: such a one may have left all the same. */
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
  // A line talks with one person at a time; changes of a conversation's members or name are no messages.
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
  // What stands for a file in the text.
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

export const attachmentUrl = (baseUrl: string, guid: string): string =>
  `${baseUrl.replace(/\/$/, '')}/api/v1/attachment/${encodeURIComponent(guid)}/download`;

/** `p:0/<guid>` names a part of a message, `bp:<guid>` a bubble. */
const bareGuid = (target: string): string => target.replace(/^(p:\d+\/|bp:)/, '');

/** `love` and `-love`, or Apple's numbers: 2000 and the following for added, 3000 and the following for removed. */
function readReaction(type: string | number): { reaction: Reaction; removed: boolean } | null {
  const code = Number(type);
  if (Number.isInteger(code)) {
    const reaction = REACTIONS[code % 1000];
    return reaction && code < 4000 && code >= 2000 ? { reaction, removed: code >= 3000 } : null;
  }
  const text = String(type);
  const reaction = REACTIONS.find((name) => text === name || text === `-${name}`);
  return reaction ? { reaction, removed: text.startsWith('-') } : null;
}
