import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { writtenForms } from '#domain/contacts/contact.ts';
import { newId } from '#domain/base/ids.ts';
import {
  INBOX_VIEWS,
  type SavedFilter,
  type SavedFilterInput,
  type SavedFilterPatch,
} from '#domain/inbox/saved-filter.ts';

const SavedFilterRow = z.object({
  id: z.string(),
  /** null: it is shared. */
  userId: z.string().nullable(),
  name: z.string(),
  view: z.enum(INBOX_VIEWS),
  search: z.string(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type SavedFilterRow = z.infer<typeof SavedFilterRow>;

/** Shared filters, and those of the user. @param userId null: of a key, which has no user. */
const isVisible = (db: TenantDb, userId: string | null) =>
  sql.fragment`workspace_id = ${db.workspaceId} and (user_id is null or user_id = ${userId})`;

/** Newest first; returns `limit + 1` rows if there are more. */
export async function pageOfSavedFilters(
  db: TenantDb,
  userId: string | null,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<SavedFilterRow[]> {
  const rows = await db.any(sql.type(SavedFilterRow)`
    select * from saved_filters where ${sql.and([
      isVisible(db, userId),
      cursor !== undefined && sql.fragment`id < ${cursor}`,
    ])} order by id desc limit ${limit + 1}`);
  return [...rows];
}

/** @param userId whose it is; null: it is shared. */
export async function insertSavedFilter(
  db: TenantDb,
  userId: string | null,
  { name, view, search }: SavedFilterInput,
  now: Date,
): Promise<SavedFilterRow> {
  return db.one(sql.type(SavedFilterRow)`
    insert into saved_filters (workspace_id, id, user_id, name, view, search)
    values (${db.workspaceId}, ${newId(now)}, ${userId}, ${name}, ${view}, ${search})
    returning *`);
}

/** @returns null if the user sees no such filter. */
export async function updateSavedFilter(
  db: TenantDb,
  id: string,
  userId: string | null,
  { name, view, search, shared }: SavedFilterPatch,
): Promise<SavedFilterRow | null> {
  return db.maybeOne(sql.type(SavedFilterRow)`
    update saved_filters set name = coalesce(${name ?? null}::text, name), view = coalesce(${view ?? null}::text, view),
      search = coalesce(${search ?? null}::text, search),
      user_id = ${shared === undefined ? sql.fragment`user_id` : shared ? null : userId}, updated_at = now()
    where ${isVisible(db, userId)} and id = ${id}
    returning *`);
}

/** @returns false if the user sees no such filter. */
export async function deleteSavedFilter(db: TenantDb, id: string, userId: string | null): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from saved_filters where ${isVisible(db, userId)} and id = ${id}`);
  return rowCount > 0;
}

/** The filters that search for an address of a contact, in any format. */
export async function deleteSavedFiltersNaming(db: TenantDb, addresses: readonly string[]): Promise<void> {
  const { plain, digits } = writtenForms(addresses);
  await db.query(sql.type(NoRows)`
    delete from saved_filters where workspace_id = ${db.workspaceId} and (
      exists (select from unnest(${sql.array(plain, 'text')}) as n (form) where strpos(lower(search), lower(n.form)) > 0)
      or exists (select from unnest(${sql.array(digits, 'text')}) as n (form)
        where strpos(translate(search, ' ()+-./', ''), n.form) > 0))`);
}

/** Deletes the filters of a removed member, which nobody else sees. */
export async function deleteSavedFiltersOf(db: TenantDb, userId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from saved_filters where workspace_id = ${db.workspaceId} and user_id = ${userId}`);
}

export const presentSavedFilter = ({
  id,
  userId,
  name,
  view,
  search,
  createdAt,
  updatedAt,
}: SavedFilterRow): SavedFilter => ({
  _id: id,
  name,
  view,
  search,
  shared: userId === null,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});
