import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { containsText } from '../base/search.ts';
import type { Snippet, SnippetInput, SnippetPatch } from '#domain/inbox/snippet.ts';

const SnippetRow = z.object({
  id: z.string(),
  name: z.string(),
  text: z.string(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type SnippetRow = z.infer<typeof SnippetRow>;

/** Newest first; returns `limit + 1` rows if there are more. */
export async function pageOfSnippets(
  db: TenantDb,
  { limit, cursor, search }: { limit: number; cursor?: string | undefined; search?: string | undefined },
): Promise<SnippetRow[]> {
  const rows = await db.any(sql.type(SnippetRow)`
    select * from snippets where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
      search !== undefined && containsText(sql.fragment`concat_ws(' ', name, text)`, search),
    ])} order by id desc limit ${limit + 1}`);
  return [...rows];
}

/** By their ids, in any order. */
export const findSnippets = (db: TenantDb, ids: readonly string[]): Promise<readonly SnippetRow[]> =>
  db.any(sql.type(SnippetRow)`
    select * from snippets where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})`);

export async function insertSnippet(
  db: TenantDb,
  { name, text }: SnippetInput,
  now: Date,
): Promise<SnippetRow> {
  return db.one(sql.type(SnippetRow)`
    insert into snippets (workspace_id, id, name, text) values (${db.workspaceId}, ${newId(now)}, ${name}, ${text})
    returning *`);
}

/** @returns null if there is no such snippet. */
export async function updateSnippet(
  db: TenantDb,
  id: string,
  { name = null, text = null }: { [Name in keyof SnippetPatch]: SnippetPatch[Name] | null },
): Promise<SnippetRow | null> {
  return db.maybeOne(sql.type(SnippetRow)`
    update snippets set name = coalesce(${name}::text, name), text = coalesce(${text}::text, text), updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}
    returning *`);
}

/** @returns false if there is no such snippet. */
export async function deleteSnippet(db: TenantDb, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from snippets where workspace_id = ${db.workspaceId} and id = ${id}`);
  return rowCount > 0;
}

export const presentSnippet = ({ id, name, text, createdAt, updatedAt }: SnippetRow): Snippet => ({
  _id: id,
  name,
  text,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});
