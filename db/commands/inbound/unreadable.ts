import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';

/** Records a message that is passed over because it cannot be read; recorded before, it changes nothing. */
export async function noteUnreadable(
  db: TenantDb,
  lineId: string,
  { reference, reason }: { reference: string; reason: string },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into unreadable_inbound (workspace_id, line_id, reference, reason)
    values (${db.workspaceId}, ${lineId}, ${reference}, ${reason})
    on conflict do nothing`);
}

/** Of all workspaces, as long as they are kept. */
export async function countUnreadable(db: SystemDb): Promise<number> {
  return db.oneFirst(
    sql.type(z.object({ count: z.coerce.number() }))`select count(*) from unreadable_inbound`,
  );
}
