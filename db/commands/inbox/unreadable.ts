import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

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

const ReferenceRow = z.object({ reference: z.string() });

/** Those of the references that are recorded. */
export async function unreadableAmong(
  db: TenantDb,
  lineId: string,
  references: readonly string[],
): Promise<ReadonlySet<string>> {
  if (references.length === 0) return new Set();
  const known = await db.anyFirst(sql.type(ReferenceRow)`
    select reference from unreadable_inbound
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and reference = any(${sql.array([...references], 'text')})`);
  return new Set(known);
}

const CountRow = z.object({ count: z.coerce.number() });

/** The number of unreadable messages of all workspaces within the retention period. */
export async function countUnreadable(db: SystemDb): Promise<number> {
  return db.oneFirst(sql.type(CountRow)`select count(*) from unreadable_inbound`);
}
