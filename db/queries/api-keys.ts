import { NoRows } from '#db/rows.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import type { ApiKeyRecord } from '#domain/api-key-record.ts';
import type { NewApiKey } from '#domain/api-key.ts';
import { newId } from '#domain/ids.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';

const KeyRow = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  last4: z.string(),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
  expiresAt: z.date().nullable(),
  revokedAt: z.date().nullable(),
});

/** The keys of a workspace or of an agency: two tables with the same columns. */
export type KeyStore = { db: TenantDb; workspaceId: string } | { db: SystemDb; agencyId: string };

const table = (store: KeyStore) =>
  'agencyId' in store ? sql.fragment`agency_keys` : sql.fragment`workspace_keys`;
const owner = (store: KeyStore) =>
  'agencyId' in store ? sql.fragment`agency_id` : sql.fragment`workspace_id`;
const ownerId = (store: KeyStore): string => ('agencyId' in store ? store.agencyId : store.workspaceId);

export async function listApiKeys(store: KeyStore): Promise<ApiKeyRecord[]> {
  const rows = await store.db.any(sql.type(KeyRow)`
    select * from ${table(store)} where ${owner(store)} = ${ownerId(store)} order by id desc`);
  return rows.map(present);
}

export async function insertApiKey(
  store: KeyStore,
  key: Omit<NewApiKey, 'key'>,
  { name, expiresAt, userId }: { name: string; expiresAt: Date | null; userId: string | null },
): Promise<ApiKeyRecord> {
  const row = await store.db.one(sql.type(KeyRow)`
    insert into ${table(store)} (${owner(store)}, id, name, hash, prefix, last4, expires_at, created_by_user_id)
    values (${ownerId(store)}, ${newId()}, ${name}, ${key.hash}, ${key.prefix}, ${key.last4},
      ${expiresAt && sql.timestamp(expiresAt)}, ${userId})
    returning *`);
  return present(row);
}

/** Revokes a key with immediate effect. @returns false if there is no such key. */
export async function revokeApiKey(store: KeyStore, id: string): Promise<boolean> {
  const { rowCount } = await store.db.query(sql.type(NoRows)`
    update ${table(store)} set revoked_at = coalesce(revoked_at, now())
    where ${owner(store)} = ${ownerId(store)} and id = ${id}`);
  return rowCount > 0;
}

/** Revokes the keys that a user created. @returns how many. */
export async function revokeKeysOf(store: KeyStore, userId: string): Promise<number> {
  const { rowCount } = await store.db.query(sql.type(NoRows)`
    update ${table(store)} set revoked_at = now()
    where ${owner(store)} = ${ownerId(store)} and created_by_user_id = ${userId} and revoked_at is null`);
  return rowCount;
}

/** Revokes the keys that a user created for an agency and for its clients. @returns how many. */
export async function revokeKeysInAgency(db: SystemDb, agencyId: string, userId: string): Promise<number> {
  const own = await revokeKeysOf({ db, agencyId }, userId);
  const { rowCount } = await db.query(sql.type(NoRows)`
    update workspace_keys k set revoked_at = now() from workspaces w
    where w.id = k.workspace_id and w.agency_id = ${agencyId} and k.created_by_user_id = ${userId}
      and k.revoked_at is null`);
  return own + rowCount;
}

const present = (row: z.infer<typeof KeyRow>): ApiKeyRecord => ({
  _id: row.id,
  name: row.name,
  prefix: row.prefix,
  last4: row.last4,
  createdAt: row.createdAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
});
