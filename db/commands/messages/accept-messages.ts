import { newId } from '#domain/base/ids.ts';
import { PREVIOUS_STEP } from '#db/commands/campaigns/revisions.ts';
import { Refusal } from '#domain/base/refusal.ts';
import type { AcceptedMessage } from '#domain/messages/accepted-message.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { ensureLeads } from './intake-leads.ts';
import { chooseLines } from './line-choice.ts';
import {
  findMessage,
  insertMessages,
  type MessageRow,
  type NewBubble,
} from '#db/queries/messages/messages.ts';
import { findActionTarget } from '#db/queries/messages/message-actions.ts';
import { failMessagesToOptedOut } from '../contacts/opt-outs.ts';
import { traceAccepted } from '#db/connection/message-traces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake, wakeForMessage } from '#db/wakes/wakes.ts';

/**
 * Queues accepted messages: assigns leads and lines. Messages that exist are skipped. Messages to opted-out or suppressed
 * addresses fail at once, which is an outcome and not an error.
 */
export async function acceptMessages(
  db: TenantDb,
  accepted: readonly AcceptedMessage[],
  now: Date,
): Promise<void> {
  await checkReplies(db, accepted);
  const messages = await chooseLines(db, await ensureLeads(db, accepted, now));
  const inserted = await insertMessages(db, messages, now);
  for (const { id, lineId, source, scheduledAt, ...message } of messages) {
    const isNew = inserted.get(id);
    if (isNew === undefined) continue;
    traceAccepted(db, id, { 'linepace.source': source });
    if (lineId === null) continue;
    const at = new Date(scheduledAt);
    // Voice notes are created, and SMS that replace messages are sent, even while the line holds its messages.
    if (message.voiceNote || message.forceFallback) wake(db, linePacerId(lineId), at, 'messagesDue');
    else wakeForMessage(db, lineId, { scheduledAt: at, isNew });
  }
  await failMessagesToOptedOut(db, [...new Set(messages.map(({ address }) => address))], now);
}

/**
 * Like `acceptMessage`, for texts that are sent one after the other. Each waits for the one before; the first has their place under the
 * limits.
 * @returns the first, and the ids of the others.
 */
export async function acceptBubbles(
  db: TenantDb,
  accepted: AcceptedMessage,
  others: readonly string[],
  now: Date,
): Promise<{ message: MessageRow; bubbleIds: string[] }> {
  const isAlone = others.length === 0;
  if (!isAlone && accepted.channel === 'email')
    throw new Refusal('VALIDATION_ERROR', 'message', 'must be one text: an email has no others');
  const message = await acceptMessage(db, isAlone ? accepted : { ...accepted, cancelIfReply: true }, now);
  const { id, lineId, status } = message;
  if (isAlone || lineId === null || !(status === 'pending' || status === 'scheduled'))
    return { message, bubbleIds: [] };
  const bubbles = others.map((body, index): NewBubble => ({
    ...accepted,
    id: newId(now),
    leadId: message.leadId,
    body,
    attachmentUrls: [],
    attachmentNames: [],
    voiceNote: false,
    replyToId: null,
    effect: null,
    smsFallbackMessage: null,
    cancelIfReply: true,
    pinnedLineId: lineId,
    lineId,
    bubbleOf: id,
    bubble: index + 1,
    held: true,
    holdReason: PREVIOUS_STEP,
  }));
  await insertMessages(db, bubbles, now);
  return { message, bubbleIds: bubbles.map((bubble) => bubble.id) };
}

/** @throws Refusal unless what a message answers was exchanged with the same contact. */
async function checkReplies(db: TenantDb, messages: readonly AcceptedMessage[]): Promise<void> {
  for (const message of messages) {
    const refusal = await refusalOfReply(db, message);
    if (refusal) throw refusal;
  }
}

/** Why a message cannot answer the one that it names; null: it can, or names none. */
export async function refusalOfReply(
  db: TenantDb,
  { replyToId, address }: Pick<AcceptedMessage, 'replyToId' | 'address'>,
): Promise<Refusal | null> {
  if (replyToId === null) return null;
  const refusal = (text: string) => new Refusal('VALIDATION_ERROR', 'replyToMessageId', text);
  const target = await findActionTarget(db, replyToId);
  if (!target) return new Refusal('NOT_FOUND', 'replyToMessageId', 'no such message in this workspace');
  if (target.address !== address) return refusal('is of another conversation');
  if (target.unsentAt !== null) return refusal('was taken back');
  return target.direction === 'out' && target.sentAt === null ? refusal('has not been sent') : null;
}

/** Like `acceptMessages`, for one message. @returns the message, which may have existed before. */
export async function acceptMessage(db: TenantDb, accepted: AcceptedMessage, now: Date): Promise<MessageRow> {
  await acceptMessages(db, [accepted], now);
  const message = await findMessage(db, accepted.id);
  if (!message) throw new Error('the message was not inserted');
  return message;
}
