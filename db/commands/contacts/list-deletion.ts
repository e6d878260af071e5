import { sql } from 'slonik';
import { listDeletionId } from '#workflows/protocol/workflow-ids.ts';
import { cancelMessagesOfLeads } from '#db/commands/campaigns/campaign-stops.ts';
import { hiddenLists } from '#db/queries/contacts/lists.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';

/** Rows of each table deleted in one transaction. */
const CHUNK = 1000;

/**
 * Deletes a list and its leads, and cancels their unsent messages. Requires `lockList`. A lead that is also in another
 * list stays in that list. The list is hidden immediately; the workflow of a large list deletes the remaining leads.
 */
export async function deleteList(db: TenantDb, id: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lead_lists set deleted_at = now() where workspace_id = ${db.workspaceId} and id = ${id}`);
  await db.query(sql.type(NoRows)`
    update lead_imports set status = 'failed', error = 'the list was deleted', updated_at = now()
    where workspace_id = ${db.workspaceId} and list_id = ${id} and status = 'running'`);
  if ((await deleteChunk(db, id, now)) !== 'done') wake(db, listDeletionId(id), now, 'requested');
}

/**
 * Deletes the next rows of a hidden list.
 * @returns `busy` if others have locked the leads that are left.
 */
export async function deleteChunk(
  db: TenantDb,
  listId: string,
  now: Date,
): Promise<'done' | 'more' | 'busy'> {
  // A change of a lead may still move its addresses within the list.
  await db.query(sql.type(NoRows)`
    select from lead_lists where workspace_id = ${db.workspaceId} and id = ${listId} for no key update`);
  // Not waited for, because whoever has locked a lead may wait for the list.
  const owned = await db.anyFirst(sql.type(IdRow)`
    select id from leads where workspace_id = ${db.workspaceId} and list_id = ${listId}
    order by id limit ${CHUNK} for update skip locked`);
  await deleteLeads(db, listId, owned, now);
  const isLeft = await db.exists(sql.type(NoRows)`
    select from leads where workspace_id = ${db.workspaceId} and list_id = ${listId}`);
  if (isLeft) return owned.length === 0 ? 'busy' : 'more';

  // The memberships of leads that belong to other lists.
  const entries = sql.fragment`list_addresses where workspace_id = ${db.workspaceId} and list_id = ${listId}`;
  if (await deleteSome(db, 'list_addresses', entries)) return 'more';
  const rejected = sql.fragment`rejected_rows where workspace_id = ${db.workspaceId} and import_id = any(array(
    select id from lead_imports where workspace_id = ${db.workspaceId} and list_id = ${listId}))`;
  if (await deleteSome(db, 'rejected_rows', rejected)) return 'more';

  await db.query(sql.type(NoRows)`
    delete from lead_lists where workspace_id = ${db.workspaceId} and id = ${listId} and deleted_at is not null`);
  return 'done';
}

/** @returns whether there may be more. */
async function deleteSome(
  db: TenantDb,
  table: string,
  rows: ReturnType<typeof sql.fragment>,
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from ${sql.identifier([table])}
    where workspace_id = ${db.workspaceId} and ctid = any(array(select ctid from ${rows} limit ${CHUNK}))`);
  return rowCount === CHUNK;
}

/** Deletes the leads that a list owns; a lead that is also in another list is moved there. */
async function deleteLeads(
  db: TenantDb,
  listId: string,
  leadIds: readonly string[],
  now: Date,
): Promise<void> {
  if (leadIds.length === 0) return;
  const ids = sql.array([...leadIds], 'text');
  const kept = await db.anyFirst(sql.type(IdRow)`
    update leads l set list_id = other.list_id
    from (
      select m.id, min(a.list_id) list_id from leads m cross join lateral unnest(contact_keys(m.emails || m.phones)) as t (address)
      join list_addresses a on a.workspace_id = m.workspace_id and a.address = t.address and a.lead_id = m.id
      where m.workspace_id = ${db.workspaceId} and m.id = any(${ids}) and a.list_id <> all(${hiddenLists(db)})
      group by m.id
    ) other
    where l.workspace_id = ${db.workspaceId} and l.id = other.id
    returning l.id`);
  const stays = new Set(kept);
  const gone = sql.array(
    leadIds.filter((id) => !stays.has(id)),
    'text',
  );
  await cancelMessagesOfLeads(db, sql.fragment`select unnest(${gone})`, now);
  await db.query(sql.type(NoRows)`
    delete from list_addresses
    where workspace_id = ${db.workspaceId} and list_id = ${listId} and lead_id = any(${ids})`);
  await db.query(
    sql.type(NoRows)`delete from leads where workspace_id = ${db.workspaceId} and id = any(${gone})`,
  );
}
