import type { MessageDraft } from '#domain/message-draft.ts';
import { linePacerId, webhookDispatcherId } from '#workflows/messages/wake.ts';
import { ensureLeads } from './intake-leads.ts';
import { chooseLines } from './line-choice.ts';
import { insertMessages, type MessageRow } from '#db/queries/messages.ts';
import { emitOptedOut, failOptedOut } from './opt-outs.ts';
import type { TenantDb } from '#db/pool.ts';
import { requestWake } from '#db/wakes.ts';

/**
 * Takes drafts in as messages: each gets its lead, its line and its place in that line's queue. One to an address
 * that has opted out is failed at once, which is an outcome and not an error (decisions §4).
 * @returns the messages in the order of the drafts, and the workflows to be woken after the commit.
 */
export async function acceptMessages(
  db: TenantDb,
  drafts: readonly MessageDraft[],
  now: Date,
): Promise<{ messages: MessageRow[]; wakes: string[] }> {
  const messages = await insertMessages(db, await chooseLines(db, await ensureLeads(db, drafts, now)), now);
  const earliest = new Map<string, Date>();
  for (const { lineId, scheduledAt } of messages) {
    if (lineId === null) continue;
    const known = earliest.get(lineId);
    if (!known || scheduledAt < known) earliest.set(lineId, scheduledAt);
  }
  const wakes: string[] = [];
  // In one order: two transactions that wake the same lines wait for each other instead of deadlocking.
  for (const lineId of [...earliest.keys()].toSorted()) {
    const pacer = linePacerId(lineId);
    if (await requestWake(db, pacer, earliest.get(lineId) ?? now)) wakes.push(pacer);
  }
  const failed = await failOptedOut(db, [...new Set(messages.map(({ address }) => address))]);
  if (await emitOptedOut(db, failed, now)) wakes.push(webhookDispatcherId(db.workspaceId));
  const byId = new Map(failed.map((message) => [message.id, message]));
  return { messages: messages.map((message) => byId.get(message.id) ?? message), wakes };
}
