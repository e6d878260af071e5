import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { TOLD_AFTER_MS } from '#domain/lines/inbox-health.ts';

const PositionRow = z.object({ position: z.string() });

/** The position up to which the inbox was read, in the carrier's format; null if it never was. */
export async function inboxPosition(db: TenantDb, lineId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(PositionRow)`
    select position from line_inboxes where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
}

/** Sets the initial position; an inbox that was read before keeps its position. */
export async function initInboxPosition(db: TenantDb, lineId: string, position: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into line_inboxes (workspace_id, line_id, position) values (${db.workspaceId}, ${lineId}, ${position})
    on conflict do nothing`);
}

/**
 * Advances the position, under a lock on the line and before what was read is stored in the same transaction.
 * @returns false if another reader has advanced it.
 */
export async function advanceInboxPosition(
  db: TenantDb,
  lineId: string,
  { from, to }: { from: string; to: string },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update line_inboxes set position = ${to}
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and position = ${from}`);
  return rowCount > 0;
}

const InboxCount = z.object({
  read: z.int(),
  unreadable: z.int(),
  /** Since the one that was not read for longest was read, of those that can be read; null: there is none. */
  oldestSeconds: z.number().nullable(),
});

const UNREADABLE = sql.fragment`coalesce(l.inbox_failing_since < now() - make_interval(secs => ${TOLD_AFTER_MS / 1000}), false)`;

/**
 * The inboxes of the active lines of all workspaces: those that can be read and those that cannot, and lines whose carrier does not report
 * replies. Reads all of them.
 */
export async function countInboxes(db: SystemDb): Promise<z.infer<typeof InboxCount>> {
  return db.one(sql.type(InboxCount)`
    select count(*) filter (where not ${UNREADABLE}) "read", count(*) filter (where ${UNREADABLE}) unreadable,
      extract(epoch from now() - min(i.read_at) filter (where l.inbox_failing_since is null))::float8 oldest_seconds
    from lines l left join line_inboxes i on i.workspace_id = l.workspace_id and i.line_id = l.id
    where l.is_active and l.provisioning_status = 'active'
      and (i.line_id is not null or l.inbox_failing_since is not null)`);
}
