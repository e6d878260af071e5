import { sql } from 'slonik';
import { z } from 'zod';
import { keepPausedAmong } from '#db/commands/campaigns/lead-pauses.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { notify } from '#db/commands/events/notifications.ts';
import { type Author, optOut } from './opt-outs.ts';
import { copilotDebounce } from '#db/queries/drafts/knowledge-base.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import {
  decideSuspicion,
  findSuspicion,
  insertSuspicion,
  type SuspicionRow,
} from '#db/queries/contacts/opt-out-suspicions.ts';
import { holdSuspected } from '#db/queries/sending/queue-changes.ts';
import type { InboundRow } from '#db/queries/inbox/replies.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake, wakeLines } from '#db/wakes/wakes.ts';
import { holdDraft, releaseDraft } from '#db/commands/drafts/ai-drafts.ts';
import { emitDraft } from '#db/commands/drafts/draft-events.ts';
import { optOutSuspicion } from '#domain/contacts/doubtful-opt-out.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { optOutJudgeId } from '#workflows/protocol/workflow-ids.ts';

/**
 * Records that a contact asks, or may ask, to be left alone in other words than the keywords. Campaigns to them wait for a decision. For a
 * doubtful reply, the model is asked first if the copilot is on; otherwise it is ignored. Requires `lockContact`.
 */
export async function suspectOptOut(
  db: TenantDb,
  { id: replyId, address, body }: Pick<InboundRow, 'id' | 'address' | 'body'>,
  now: Date,
  certainty = optOutSuspicion(body),
): Promise<void> {
  if (certainty === 'none') return;
  const isDoubtful = certainty === 'doubtful';
  if (isDoubtful && (await copilotDebounce(db)) === null) return;
  const id = await insertSuspicion(db, { address, replyId, certainty }, now);
  if (id === null) return;
  await holdSuspected(db, sql.fragment`m.address = ${address}`);
  await holdDraft(db, address, now);
  if (isDoubtful) wake(db, optOutJudgeId(db.workspaceId), now, 'repliesDoubted');
  else await askPerson(db, id, now);
}

/** Notifies the users who decide. */
export async function askPerson(db: TenantDb, suspicionId: string, now: Date): Promise<void> {
  const suspicion = await findSuspicion(db, suspicionId);
  if (!suspicion) return;
  const { address, leadId, replyId, body } = suspicion;
  const payload = {
    event: 'contact.opt_out_suspected' as const,
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    suspicionId,
    address,
    ...(leadId !== null && { leadId }),
    replyId,
    message: shownReply(body),
  };
  await emitEvents(db, [payload], now);
  await notify(db, `suspicion:${suspicionId}`, { about: 'opt_out_suspected', suspicionId }, now);
}

const ReleasedRow = z.object({ id: z.string(), lineId: z.string().nullable(), scheduledAt: z.date() });

/**
 * Decides a suspicion: opts the contact out, or lets campaigns continue.
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
  await releaseSuspected(db, address, now);
  return true;
}

/** Lets the campaigns to a contact continue, and a draft to them be offered. Requires `lockContact`. */
export async function releaseSuspected(db: TenantDb, address: string, now: Date): Promise<void> {
  const released = await db.any(sql.type(ReleasedRow)`
    update messages set held = false, hold_reason = null, updated_at = now()
    where workspace_id = ${db.workspaceId} and address = ${address} and held and hold_reason = 'opt_out_suspected'
      and status in ('pending', 'scheduled')
    returning id, line_id, scheduled_at`);
  await keepPausedAmong(
    db,
    released.map(({ id }) => id),
  );
  wakeLines(db, released);
  const written = await releaseDraft(db, address, now);
  if (written) await emitDraft(db, written, now);
}
