import { mapInTurns } from '#domain/base/turns.ts';
import { searchListing } from '#domain/sending/carrier-listing.ts';
import type { AttemptReference, ReconcileOutcome } from '../carrier.ts';
import type { BlueBubblesApi, BlueBubblesConfig } from './api.ts';
import { clockSkew, type MessagesRead, readMessages } from './message-list.ts';
import {
  type BlueBubblesMessage,
  groupOf,
  isChatWith,
  isInGroup,
  isTapback,
  textOf,
  TIMED_OUT,
} from './protocol.ts';

/** How long after its start an attempt without a response may still be sent; the server can take 20 minutes for files. */
const SETTLE_MS = 180_000;
const SETTLE_FILES_MS = 21 * 60_000;
/** How wrong a clock may have been that was set afterwards, for example in another zone. */
const WRONG_CLOCK_MS = 15 * 3_600_000;
const MAX_PAGES = 100;

/** The server discards our reference after its response, so the message is found by its content. */
export async function reconcile(
  api: BlueBubblesApi,
  config: BlueBubblesConfig,
  attempt: AttemptReference,
  now: Date,
): Promise<ReconcileOutcome> {
  const skew = await clockSkew(api, config);
  const after = attempt.startedAt.getTime() - skew;
  const before = attempt.startedBy.getTime() + SETTLE_FILES_MS + skew;
  const wide = { after: after - WRONG_CLOCK_MS, before: before + WRONG_CLOCK_MS };
  const read = await readMessages(api, config, { ...wide, sort: 'DESC' }, MAX_PAGES);
  if ('failure' in read) return { kind: 'unreachable', reason: read.failure };
  const search = (messages: BlueBubblesMessage[]): Promise<ReconcileOutcome> =>
    findAttempt({ ...read, messages }, attempt, now);
  const isInTime = ({ dateCreated }: BlueBubblesMessage): boolean =>
    !dateCreated || (dateCreated >= after && dateCreated <= before);
  const outcome = await search(read.messages.filter(isInTime));
  if (outcome.kind !== 'not_sent') return outcome;
  // The Mac may have sent it by another clock than it has now.
  const atOtherTimes = await search(read.messages.filter((message) => !isInTime(message)));
  const mayBeIt = atOtherTimes.kind === 'accepted' || (!attempt.text && atOtherTimes.kind === 'unknown');
  return mayBeIt ? { kind: 'unknown' } : outcome;
}

async function findAttempt(
  { messages, unreadable, isComplete }: MessagesRead,
  { attemptId, channel, to, group, text, takenIds, attachmentCount, startedAt, startedBy }: AttemptReference,
  now: Date,
): Promise<ReconcileOutcome> {
  const sent = messages.filter(
    (message) => message.isFromMe && !isTapback(message) && message.itemType === 0,
  );
  const isSettled =
    now.getTime() - startedBy.getTime() >= (attachmentCount > 0 ? SETTLE_FILES_MS : SETTLE_MS);
  const inChat = await mapInTurns(sent, (message) =>
    (group ? isInGroup(message, group) : isChatWith(message, to))
      ? [{ id: message.guid, text: textOf(message), message }]
      : [],
  );
  const listed = inChat
    .flat()
    // A file alone is no text.
    .filter(({ text, message }) => attachmentCount > 0 || text !== '' || !message.attachments?.length);
  const byReference = sent.find(({ tempGuid }) => tempGuid === attemptId);
  const result = byReference
    ? { kind: 'found' as const, message: { message: byReference } }
    : await searchListing(
        { messages: listed, isComplete: isComplete && unreadable.length === 0 },
        {
          text,
          takenIds,
          isRecordLost: startedBy > startedAt,
          isSettled,
        },
      );
  if (result.kind !== 'found') return result;
  const own = result.message.message.attachments?.length ?? 0;
  if (own + filesAfter(result.message.message, listed) < attachmentCount)
    return isSettled
      ? { kind: 'unknown' }
      : { kind: 'unreachable', reason: 'its files may still be on their way' };
  const { message: found } = result.message;
  const { guid, error, isDelivered, dateDelivered } = found;
  const groupId = group ? groupOf(found)?.id : undefined;
  // SMS can be reported as failed although they were sent.
  if (!error || isDelivered || dateDelivered || channel === 'sms')
    return { kind: 'accepted', carrierMessageId: guid, ...(groupId !== undefined && { groupId }) };
  return error === TIMED_OUT ? { kind: 'unknown' } : { kind: 'not_sent' };
}

/**
 * How many messages with nothing but a file follow one in its conversation, before the next text: its own, because parts are sent one
 * after the other.
 * @param listed from the newest to the oldest.
 */
function filesAfter(
  { guid }: BlueBubblesMessage,
  listed: readonly { id: string; text: string; message: BlueBubblesMessage }[],
): number {
  const at = listed.findIndex(({ id }) => id === guid);
  const newer = listed.slice(0, Math.max(0, at)).toReversed();
  const next = newer.findIndex(({ text }) => text !== '');
  return (next < 0 ? newer : newer.slice(0, next)).filter(({ message }) => message.attachments?.length)
    .length;
}
