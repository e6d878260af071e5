import { sql } from 'slonik';
import { z } from 'zod';
import { wakeLines } from '#db/commands/campaigns/campaign-entry.ts';
import { emitEvents } from '#db/commands/outbox/events.ts';
import { notify } from '#db/commands/outbox/notifications.ts';
import { type Author, optOut } from '#db/commands/sending/opt-outs.ts';
import { lockContact } from '#db/queries/message-locks.ts';
import { decideSuspicion, insertSuspicion, type SuspicionRow } from '#db/queries/opt-out-suspicions.ts';
import { holdSuspected } from '#db/queries/queue.ts';
import type { InboundRow } from '#db/queries/replies.ts';
import type { TenantDb } from '#db/transactions.ts';
import { shownReply } from '#domain/reply.ts';

/** Somebody asks to be left alone in other words than the keywords: campaigns to them wait for a decision. Requires `lockContact`. */
export async function suspectOptOut(
  db: TenantDb,
  { id: replyId, address, leadId, body, workspaceId }: InboundRow,
  now: Date,
): Promise<void> {
  const suspicionId = await insertSuspicion(db, { address, replyId }, now);
  if (suspicionId === null) return;
  const payload = {
    event: 'contact.opt_out_suspected' as const,
    timestamp: now.toISOString(),
    workspaceId,
    suspicionId,
    address,
    ...(leadId !== null && { leadId }),
    replyId,
    message: shownReply(body),
  };
  await emitEvents(db, [{ event: 'contact.opt_out_suspected', payload }], now);
  await notify(db, `suspicion:${suspicionId}`, { about: 'opt_out_suspected', suspicionId }, now);
  await holdSuspected(db, sql.fragment`m.address = ${address}`);
}

const ReleasedRow = z.object({ lineId: z.string().nullable(), scheduledAt: z.date() });

/**
 * Decides about a suspicion: an opt-out, or campaigns go on.
 * @returns false if it was decided before.
 */
export async function settleSuspicion(
  db: TenantDb,
  { id, address, replyId }: SuspicionRow,
  { action, author, now }: { action: 'confirm' | 'dismiss'; author: Author; now: Date },
): Promise<boolean> {
  await lockContact(db, address);
  const isConfirmed = action === 'confirm';
  if (!(await decideSuspicion(db, id, isConfirmed ? 'confirmed' : 'dismissed', { by: author.actor.id, now })))
    return false;
  if (isConfirmed) {
    await optOut(db, address, { source: 'reply', at: now, now, author, replyId });
    return true;
  }
  const released = await db.any(sql.type(ReleasedRow)`
    update messages set held = false, hold_reason = null, updated_at = now()
    where workspace_id = ${db.workspaceId} and address = ${address} and held and hold_reason = 'opt_out_suspected'
      and status in ('pending', 'scheduled')
    returning line_id, scheduled_at`);
  wakeLines(db, released);
  return true;
}
