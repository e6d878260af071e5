import type { MessageDraft } from '#domain/message-draft.ts';
import { linePacerId } from '#workflows/messages/wake.ts';
import { ensureLeads } from './intake-leads.ts';
import { chooseLines } from './line-choice.ts';
import { insertMessages, type MessageRow } from '#db/queries/messages.ts';
import { failOptedOut } from './opt-outs.ts';
import { traceAccepted } from '#db/message-traces.ts';
import type { TenantDb } from '#db/transactions.ts';
import { wake } from '#db/wakes.ts';

/**
 * Queues drafts as messages: assigns leads and lines. Messages to opted-out addresses fail at once, which is an outcome
 * and not an error.
 * @returns the messages in the order of the drafts.
 */
export async function acceptMessages(
  db: TenantDb,
  drafts: readonly MessageDraft[],
  now: Date,
): Promise<MessageRow[]> {
  const messages = await insertMessages(db, await chooseLines(db, await ensureLeads(db, drafts, now)), now);
  for (const { id, lineId, source, scheduledAt } of messages) {
    traceAccepted(db, id, { 'linepace.source': source });
    if (lineId !== null) wake(db, linePacerId(lineId), scheduledAt, 'messagesDue');
  }
  const failed = await failOptedOut(db, [...new Set(messages.map(({ address }) => address))], now);
  const byId = new Map(failed.map((message) => [message.id, message]));
  return messages.map((message) => byId.get(message.id) ?? message);
}
