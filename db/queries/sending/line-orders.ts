import { sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import { type LostRecords, ON_ITS_WAY_MS } from '#domain/messages/lost-records.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { campaignAllowsSending } from './queue.ts';

/** Pauses a line; null resumes it. Requires `lockLine`. */
export async function setPaused(db: TenantDb, lineId: string, at: Date | null): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lines set paused_at = ${at && sql.timestamp(at)}, paused_with_all = false, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
}

const LineRow = z.object({ workspaceId: z.string(), lineId: z.string(), carrier: z.string() });

export type NamedLine = z.infer<typeof LineRow>;

const ofWorkspace = (workspaceId: string | null) =>
  workspaceId === null ? sql.fragment`true` : sql.fragment`workspace_id = ${workspaceId}`;

/** The lines that are not paused. @param workspaceId null: of all workspaces. */
export async function unpausedLines(db: SystemDb, workspaceId: string | null): Promise<readonly NamedLine[]> {
  return db.any(sql.type(LineRow)`
    select workspace_id, id line_id, carrier from lines
    where paused_at is null and ${ofWorkspace(workspaceId)} order by workspace_id, id`);
}

/** The lines that were paused with all others. @param workspaceId null: of all workspaces. */
export async function linesPausedWithAll(
  db: SystemDb,
  workspaceId: string | null,
): Promise<readonly NamedLine[]> {
  return db.any(sql.type(LineRow)`
    select workspace_id, id line_id, carrier from lines
    where paused_at is not null and paused_with_all and ${ofWorkspace(workspaceId)} order by workspace_id, id`);
}

/** Records that a line that was just paused was paused with all others. */
export async function markPausedWithAll(db: TenantDb, lineId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lines set paused_with_all = true where workspace_id = ${db.workspaceId} and id = ${lineId}`);
}

/**
 * Records for all lines of these carriers that there are no records of messages sent since a time. They send nothing before all
 * of these messages are known to their carriers. A loss of the last day counts as the same. @returns the number of lines.
 */
export async function recordLostTime(
  db: SystemDb,
  carriers: readonly string[],
  { from, until }: LostRecords,
): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update lines set held_until = ${sql.timestamp(new Date(until.getTime() + ON_ITS_WAY_MS))},
      lost_until = ${sql.timestamp(until)}, lost_from = least(${sql.timestamp(from)},
      case when lost_until > ${sql.timestamp(new Date(until.getTime() - 86_400_000))} then lost_from end)
    where carrier = any(${sql.array([...carriers], 'text')})`);
  return rowCount;
}

/** Sets the messages that a line sends before all others, in this order. Requires `lockLine`. */
export async function setSendNow(db: TenantDb, lineId: string, messageIds: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lines set send_now = ${sql.array([...messageIds], 'text')}
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
}

/** Makes a waiting message due now. @returns false if it is not waiting, or must not be sent yet. */
export async function makeDue(db: TenantDb, messageId: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update messages m set scheduled_at = ${sql.timestamp(now)}, hold_reason = null, updated_at = now()
    where m.workspace_id = ${db.workspaceId} and m.id = ${messageId} and m.status in ('pending', 'scheduled')
      and not m.held and ${campaignAllowsSending(db)}`);
  return rowCount > 0;
}

/** The next message of a line's queue, regardless of scheduled times and gaps; null if none is waiting. */
export async function nextInTurn(db: TenantDb, lineId: string, now: Date): Promise<string | null> {
  return db.maybeOneFirst(sql.type(IdRow)`
    select m.id from messages m
    where m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId} and m.status in ('pending', 'scheduled')
      and not m.held and ${campaignAllowsSending(db)}
    order by coalesce(m.answers_until > ${sql.timestamp(now)}, false) desc, m.scheduled_at, m.arrival limit 1`);
}
