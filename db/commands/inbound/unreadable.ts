import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';

/** Records an inbound message that is skipped because it cannot be parsed. Idempotent. */
export async function recordUnreadable(
  db: TenantDb,
  lineId: string,
  { reference, reason }: { reference: string; reason: string },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into unreadable_inbound (workspace_id, line_id, reference, reason)
    values (${db.workspaceId}, ${lineId}, ${reference}, ${reason})
    on conflict do nothing`);
}

const CountRow = z.object({ count: z.coerce.number() });

/** The number of unreadable messages of all workspaces within the retention period. */
export async function countUnreadable(db: SystemDb): Promise<number> {
  return db.oneFirst(sql.type(CountRow)`select count(*) from unreadable_inbound`);
}
