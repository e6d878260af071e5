import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import { type LeadList, type LeadListPatch, QUICK_SENDS } from '#domain/contacts/lead-list.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { containsText } from '../base/search.ts';

const ListRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  name: z.string(),
  description: z.string(),
  isQuickSends: z.boolean(),
  leadCount: z.int(),
  createdByUserId: z.string().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type ListRow = z.infer<typeof ListRow>;

/** All lists, newest first. Creates Quick Sends if it does not exist. */
export async function listLists(db: TenantDb, search?: string): Promise<ListRow[]> {
  const lists = async () =>
    db.any(sql.type(ListRow)`
    select * from lead_lists where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId} and deleted_at is null`,
      search !== undefined && containsText(sql.fragment`name`, search),
    ])} order by created_at desc, id desc`);
  if (search !== undefined) {
    await quickSendsList(db);
    return [...(await lists())];
  }
  const found = await lists();
  if (found.some(({ isQuickSends }) => isQuickSends)) return [...found];
  await quickSendsList(db);
  return [...(await lists())];
}

const ListIdRow = ListRow.pick({ id: true });

/** The id of the Quick Sends list, which is created on first use. Safe to call concurrently. */
export async function quickSendsList(db: TenantDb): Promise<string> {
  const find = () =>
    db.maybeOneFirst(sql.type(ListIdRow)`
    select id from lead_lists where workspace_id = ${db.workspaceId} and is_quick_sends`);
  const found = await find();
  if (found !== null) return found;
  await db.query(sql.type(NoRows)`
    insert into lead_lists (workspace_id, id, name, description, is_quick_sends, created_by_user_id)
    select w.id, ${newId()}, ${QUICK_SENDS}, 'Leads created without a list', true, w.created_by_user_id
    from workspaces w where w.id = ${db.workspaceId}
    on conflict (workspace_id) where is_quick_sends do nothing`);
  const created = await find();
  if (created === null) throw new Error('the Quick Sends list was not created');
  return created;
}

export async function findList(db: TenantDb, id: string): Promise<ListRow | null> {
  return db.maybeOne(sql.type(ListRow)`
    select * from lead_lists where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is null`);
}

export async function insertList(
  db: TenantDb,
  { name, description, userId }: { name: string; description: string; userId: string | null },
): Promise<ListRow> {
  return db.one(sql.type(ListRow)`
    insert into lead_lists (workspace_id, id, name, description, created_by_user_id)
    values (${db.workspaceId}, ${newId()}, ${name}, ${description}, ${userId}) returning *`);
}

export async function updateList(
  db: TenantDb,
  id: string,
  { name, description }: LeadListPatch,
): Promise<ListRow | null> {
  return db.maybeOne(sql.type(ListRow)`
    update lead_lists set name = coalesce(${name ?? null}, name), description = coalesce(${description ?? null}, description),
      updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is null returning *`);
}

/**
 * Locks a list until the transaction ends. Serializes adding leads and deleting the list.
 * @returns false if there is no such list.
 */
export async function lockList(db: TenantDb, id: string): Promise<boolean> {
  const locked = await db.maybeOne(sql.type(ListIdRow)`
    select id from lead_lists
    where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is null for no key update`);
  return locked !== null;
}

/**
 * Locks the list in which a new lead is saved: the given one, or Quick Sends if it is null or was deleted.
 * @returns its id.
 */
export async function lockListOrQuickSends(db: TenantDb, id: string | null): Promise<string> {
  if (id !== null && (await lockList(db, id))) return id;
  const quickSends = await quickSendsList(db);
  await lockList(db, quickSends);
  return quickSends;
}

/**
 * Locks a list in share mode: no lead is added to it or taken from it meanwhile, and it is not deleted.
 * @returns false if there is no such list.
 */
export async function shareList(db: TenantDb, id: string): Promise<boolean> {
  const shared = await db.maybeOne(sql.type(ListIdRow)`
    select id from lead_lists
    where workspace_id = ${db.workspaceId} and id = ${id} and deleted_at is null for share`);
  return shared !== null;
}

/** Adjusts a list's number of leads. Requires `lockList`. */
export async function countLeads(db: TenantDb, listId: string, added: number): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lead_lists set lead_count = lead_count + ${added}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${listId}`);
}

/** Deleted lists that still have leads. Queries must show neither the lists nor the leads. */
export const hiddenLists = (db: TenantDb) =>
  sql.fragment`array(select id from lead_lists where workspace_id = ${db.workspaceId} and deleted_at is not null)`;

export function presentList(row: ListRow): LeadList {
  return {
    _id: row.id,
    name: row.name,
    description: row.description,
    workspaceId: row.workspaceId,
    createdByUserId: row.createdByUserId,
    leadCount: row.leadCount,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
