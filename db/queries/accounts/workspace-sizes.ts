import { sql } from 'slonik';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

/** Tells PostgreSQL's planner how large the workspaces are, see `own_workspace_statistics` in db/migrations/0001_tenancy.sql. */
export async function noteWorkspaceSizes(db: SystemDb): Promise<void> {
  await db.query(sql.type(NoRows)`select note_workspace_sizes()`);
}
