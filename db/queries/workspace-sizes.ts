import { sql } from 'slonik';
import { NoRows } from '#db/rows.ts';
import type { SystemDb } from '#db/transactions.ts';

/** Tells PostgreSQL's planner how large the workspaces are, see migration 0396. */
export async function noteWorkspaceSizes(db: SystemDb): Promise<void> {
  await db.query(sql.type(NoRows)`select note_workspace_sizes()`);
}
