import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { LineReason } from '#domain/sending/wait-reasons.ts';
import type { RecordedHold } from '#domain/messages/timeline.ts';
import type { LineRow } from '../lines/lines.ts';
import { failureOfCall, lastFailedCall } from './call-history.ts';

/**
 * Records why the line cannot send, if that has changed. Requires `lockLine`.
 * @param reason null: it can send.
 * @param order the order of the operator or user who paused it.
 */
export async function recordHold(
  db: TenantDb,
  line: Pick<LineRow, 'id' | 'recordedHold' | 'healthReason'>,
  reason: LineReason | null,
  now: Date,
  order: { by: string | null; reason: string | null } | null = null,
): Promise<void> {
  if (line.recordedHold === reason) return;
  await endHold(db, line.id, now, reason);
  if (reason === null) return;
  await db.query(sql.type(NoRows)`
    insert into line_holds (workspace_id, line_id, began_at, reason, by_name, note, attempt_id, error)
    select ${db.workspaceId}, ${line.id}, ${sql.timestamp(now)}, ${reason}, ${order?.by ?? null}, ${order?.reason ?? null},
      ${reason === 'carrier_pause' ? sql.fragment`(select id from (${lastFailedCall(db.workspaceId, line.id, now)}) call)` : null}, ${reason === 'line_down' ? line.healthReason : null}
    on conflict do nothing`);
}

/**
 * Ends the hold of a line, also of one that leaves the workspace. Requires `lockLine`.
 * @param next the reason of the hold that follows, which the caller records; null: none does.
 */
export async function endHold(
  db: TenantDb,
  lineId: string,
  now: Date,
  next: LineReason | null = null,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    with ended as (
      update line_holds set ended_at = greatest(began_at, ${sql.timestamp(now)})
      where workspace_id = ${db.workspaceId} and line_id = ${lineId} and ended_at is null
    )
    update lines set recorded_hold = ${next} where workspace_id = ${db.workspaceId} and id = ${lineId}`);
}

const Pause = z.object({ by: z.string().nullable(), reason: z.string().nullable() });

/** Who has paused the line, and why; null: it is not paused. */
export async function openPause(db: TenantDb, lineId: string): Promise<z.infer<typeof Pause> | null> {
  return db.maybeOne(sql.type(Pause)`
    select by_name "by", note reason from line_holds
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and ended_at is null and reason = 'line_paused'
    order by began_at desc limit 1`);
}

const Hold = z.object({
  beganAt: z.date(),
  endedAt: z.date().nullable(),
  reason: z.string(),
  by: z.string().nullable(),
  note: z.string().nullable(),
  error: z.string().nullable(),
});

/** More would not help the reader of a timeline. */
const MAX_HOLDS = 50;

/** The last holds of a line between two times, oldest first. */
export async function holdsBetween(
  db: TenantDb,
  lineId: string,
  { from, until }: { from: Date; until: Date },
): Promise<RecordedHold[]> {
  const holds = await db.any(sql.type(Hold)`
    select h.began_at, h.ended_at, h.reason, h.by_name "by", h.note, coalesce(${failureOfCall(sql.fragment`a`)}, h.error) error
    from line_holds h left join attempts a on a.workspace_id = h.workspace_id and a.id = h.attempt_id
    where h.workspace_id = ${db.workspaceId} and h.line_id = ${lineId} and h.began_at < ${sql.timestamp(until)}
      and coalesce(h.ended_at > ${sql.timestamp(from)}, true)
    order by h.began_at desc limit ${MAX_HOLDS}`);
  return holds.toReversed();
}
