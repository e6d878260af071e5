import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows, type TenantDb } from '#db/pool.ts';

/** How far the inbox of a line has been read, in its carrier's words; null: it has not been. */
export async function inboxPosition(db: TenantDb, lineId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(z.object({ position: z.string() }))`
    select position from line_inboxes where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
}

/** An inbox that is read from now on begins at `position`; one that was read before goes on where it stood. */
export async function beginInbox(db: TenantDb, lineId: string, position: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into line_inboxes (workspace_id, line_id, position) values (${db.workspaceId}, ${lineId}, ${position})
    on conflict do nothing`);
}

/**
 * Goes on from `from` to `to`, in the transaction that stores what was read in between, last.
 * @returns false when somebody else has read on meanwhile: nothing is to be stored then.
 */
export async function advanceInbox(
  db: TenantDb,
  lineId: string,
  { from, to }: { from: string; to: string },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update line_inboxes set position = ${to}
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and position = ${from}`);
  return rowCount > 0;
}
