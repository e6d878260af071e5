import type { AcceptedMessage } from '#domain/messages/accepted-message.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { ensureLeads } from './intake-leads.ts';
import { chooseLines } from './line-choice.ts';
import { findMessage, insertMessages, type MessageRow } from '#db/queries/messages/messages.ts';
import { failMessagesToUnwelcome } from '../contacts/opt-outs.ts';
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
  await failMessagesToUnwelcome(db, [...new Set(messages.map(({ address }) => address))], now);
}

/** Like `acceptMessages`, for one message. @returns the message, which may have existed before. */
export async function acceptMessage(db: TenantDb, accepted: AcceptedMessage, now: Date): Promise<MessageRow> {
  await acceptMessages(db, [accepted], now);
  const message = await findMessage(db, accepted.id);
  if (!message) throw new Error('the message was not inserted');
  return message;
}
