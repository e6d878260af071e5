import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { recordHold } from '#db/queries/sending/line-holds.ts';
import { setPaused } from '#db/queries/sending/line-orders.ts';
import type { LineRow } from '#db/queries/lines/lines.ts';
import { requireWritable } from '#db/queries/accounts/writable.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { unblock } from './line-block.ts';
import { wake } from '#db/wakes/wakes.ts';
import type { NewAuditEntry } from '#domain/accounts/audit.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** Who pauses or resumes a line, and why. */
export type PauseAuthor = Pick<NewAuditEntry, 'actor' | 'channel' | 'reason'>;

/**
 * Pauses or resumes a line, for its workspace and for operators alike.
 * @throws Refusal if it is resumed in a workspace that may not be changed.
 */
export async function pauseOrResume(
  db: TenantDb,
  line: LineRow,
  isPaused: boolean,
  author: PauseAuthor,
  now: Date,
): Promise<void> {
  if (!isPaused) await requireWritable(db);
  await setLinePaused(db, line, isPaused, author, now);
}

/**
 * Pauses or resumes a line, also while nothing of its workspace is sent. A paused line sends nothing until somebody resumes it; its
 * messages keep their places and say who paused it. Resuming also ends the block of a line whose carrier took nothing. Changes and records nothing if the line is already in that state. Requires
 * `lockLine`.
 */
export async function setLinePaused(
  db: TenantDb,
  line: LineRow,
  isPaused: boolean,
  { actor, channel, reason = null }: PauseAuthor,
  now: Date,
): Promise<void> {
  const isBlocked = line.blockedAt !== null;
  // Resuming a line that is blocked has its carrier tried again as if nothing had failed.
  if ((line.pausedAt !== null) === isPaused && (isPaused || !isBlocked)) return;
  if (!isPaused) await unblock(db, line, now);
  await setPaused(db, line.id, isPaused ? now : null);
  const by = actor.name ?? actor.id;
  // Also when it is resumed, so that the next pause is recorded with its own author, however soon it follows.
  await recordHold(db, line, isPaused ? 'line_paused' : null, now, { by, reason });
  await insertAuditEntry(
    { db, workspaceId: db.workspaceId },
    {
      actor,
      channel,
      reason,
      action: isPaused ? 'line.paused' : 'line.resumed',
      target: { type: 'line', id: line.id },
    },
  );
  wake(db, linePacerId(line.id), now, 'lineChanged');
}
