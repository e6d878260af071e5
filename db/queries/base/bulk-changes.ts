import { sql } from 'slonik';
import { z } from 'zod';
import { insertion } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { AuditActor } from '#domain/accounts/audit.ts';
import type { Changed } from '#domain/base/bulk.ts';

/** A bulk change that can be undone. */
export interface Undoable {
  id: string;
  actor: AuditActor;
  until: Date;
}

const nameOf = ({ type, id }: AuditActor): string => `${type}:${id}`;

export async function insertBulkChanges(
  db: TenantDb,
  { id, actor, until }: Undoable,
  changes: readonly Changed<unknown>[],
): Promise<void> {
  if (changes.length === 0) return;
  const common = { workspaceId: db.workspaceId, bulkId: id, actor: nameOf(actor), undoUntil: until };
  const rows = changes.map((change) => ({ ...common, ...change, createdAt: new Date() }));
  await db.query(sql.type(NoRows)`${insertion('bulk_changes', rows)}`);
}

/** @returns the changed items that the actor may undo now. */
export async function bulkItems(
  db: TenantDb,
  id: string,
  { actor, now }: { actor: AuditActor; now: Date },
): Promise<readonly string[]> {
  return db.anyFirst(sql.type(z.object({ item: z.string() }))`
    select item from bulk_changes
    where workspace_id = ${db.workspaceId} and bulk_id = ${id} and actor = ${nameOf(actor)}
      and undo_until > ${sql.timestamp(now)}
    order by item`);
}

const ChangedRow = z.object({ item: z.string(), before: z.unknown(), after: z.unknown() });

/** Takes changes out, to undo them: a second undo finds none. */
export async function takeBulkChanges(
  db: TenantDb,
  id: string,
  items: readonly string[],
): Promise<ReadonlyMap<string, Changed<unknown>>> {
  const rows = await db.any(sql.type(ChangedRow)`
    delete from bulk_changes
    where workspace_id = ${db.workspaceId} and bulk_id = ${id} and item = any(${sql.array([...items], 'text')})
    returning item, before, after`);
  return new Map(rows.map((row) => [row.item, row]));
}

/** What could be undone of a contact. @param items the ids of its leads and its addresses. */
export async function deleteBulkChangesOf(db: TenantDb, items: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from bulk_changes where workspace_id = ${db.workspaceId} and item = any(${sql.array([...items], 'text')})`);
}
