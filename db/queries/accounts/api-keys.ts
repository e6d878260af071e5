import { IdRow, NoRows } from '#db/connection/rows.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import type { ApiKeyRecord, WorkspaceKeyRecord } from '#domain/accounts/api-key-record.ts';
import type { NewApiKey } from '#domain/accounts/api-key.ts';
import { newId } from '#domain/base/ids.ts';
import { type KeyRestrictions, KeyScope } from '#domain/accounts/key-scope.ts';
import { Mode } from '#domain/test-mode/test-mode.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { addLookup } from './lookups.ts';

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

const WorkspaceKeyRow = KeyRow.extend({
  scopes: z.array(KeyScope),
  allowedIps: z.array(z.string()).nullable(),
  mode: Mode,
});
type WorkspaceKeyRow = z.infer<typeof WorkspaceKeyRow>;

/** The keys of a workspace or of an agency: two tables whose common columns are the same. */
export type KeyStore = { db: TenantDb } | { db: SystemDb; agencyId: string };

const table = (store: KeyStore) =>
  'agencyId' in store ? sql.fragment`agency_keys` : sql.fragment`workspace_keys`;
const owner = (store: KeyStore) =>
  'agencyId' in store ? sql.fragment`agency_id` : sql.fragment`workspace_id`;
const ownerId = (store: KeyStore): string => ('agencyId' in store ? store.agencyId : store.db.workspaceId);

/** One key more than the page has, if there is one. */
export async function pageOfWorkspaceKeys(db: TenantDb, page: Page): Promise<WorkspaceKeyRecord[]> {
  const rows = await db.any(sql.type(WorkspaceKeyRow)`select * ${pageOf({ db }, page)}`);
  return rows.map(presentWorkspaceKey);
}

/** One key more than the page has, if there is one. */
export async function pageOfAgencyKeys(db: SystemDb, agencyId: string, page: Page): Promise<ApiKeyRecord[]> {
  const rows = await db.any(sql.type(KeyRow)`select * ${pageOf({ db, agencyId }, page)}`);
  return rows.map(present);
}

const ExpiryRow = z.object({ expiresAt: z.date().nullable() });

/** When a key of an agency ends; null: never. */
export const agencyKeyExpiry = (db: SystemDb, agencyId: string, keyId: string | null): Promise<Date | null> =>
  db.maybeOneFirst(sql.type(ExpiryRow)`
    select expires_at from agency_keys where agency_id = ${agencyId} and id = ${keyId}`);

interface Page {
  limit: number;
  cursor?: string | undefined;
}

const pageOf = (store: KeyStore, { limit, cursor }: Page) => sql.fragment`
  from ${table(store)} where ${owner(store)} = ${ownerId(store)}
    ${cursor === undefined ? sql.fragment`` : sql.fragment`and id < ${cursor}`}
  order by id desc limit ${limit + 1}`;

interface KeySettings {
  name: string;
  expiresAt: Date | null;
  userId: string | null;
}

const COLUMNS = sql.fragment`id, name, hash, prefix, last4, expires_at, created_by_user_id`;
const valuesOf = (key: Omit<NewApiKey, 'key'>, { name, expiresAt, userId }: KeySettings) => sql.fragment`
  ${newId()}, ${name}, ${key.hash}, ${key.prefix}, ${key.last4}, ${expiresAt && sql.timestamp(expiresAt)}, ${userId}`;

export async function insertWorkspaceKey(
  db: TenantDb,
  key: Omit<NewApiKey, 'key'>,
  settings: KeySettings & KeyRestrictions & { mode: Mode },
): Promise<WorkspaceKeyRecord> {
  const { scopes, allowedIps, mode } = settings;
  const row = await db.one(sql.type(WorkspaceKeyRow)`
    insert into workspace_keys (workspace_id, ${COLUMNS}, scopes, allowed_ips, mode)
    values (${db.workspaceId}, ${valuesOf(key, settings)}, ${sql.array(scopes, 'text')},
      ${allowedIps && sql.array(allowedIps, 'text')}, ${mode})
    returning *`);
  await addLookup(db, 'key', key.hash);
  return presentWorkspaceKey(row);
}

export async function insertAgencyKey(
  db: SystemDb,
  agencyId: string,
  key: Omit<NewApiKey, 'key'>,
  settings: KeySettings,
): Promise<ApiKeyRecord> {
  const row = await db.one(sql.type(KeyRow)`
    insert into agency_keys (agency_id, ${COLUMNS}) values (${agencyId}, ${valuesOf(key, settings)})
    returning *`);
  return present(row);
}

const LockedKeyRow = WorkspaceKeyRow.extend({ usable: z.boolean(), rolledAt: z.date().nullable() });
const EndRow = z.object({ expiresAt: z.date() });

/** @returns null if there is no such key. */
export async function lockWorkspaceKey(
  db: TenantDb,
  id: string,
): Promise<z.infer<typeof LockedKeyRow> | null> {
  return db.maybeOne(sql.type(LockedKeyRow)`
    select *, revoked_at is null and (expires_at is null or expires_at > now()) usable
    from workspace_keys where workspace_id = ${db.workspaceId} and id = ${id} for update`);
}

/** Marks a key as rolled and ends it at `at`, unless it expires earlier. @returns when it ends. */
export async function endRolledKey(db: TenantDb, id: string, at: Date): Promise<Date> {
  return db.oneFirst(sql.type(EndRow)`
    update workspace_keys set expires_at = least(expires_at, ${sql.timestamp(at)}), rolled_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} returning expires_at`);
}

/** Revokes a key with immediate effect. @returns false if there is no such key. */
export async function revokeApiKey(store: KeyStore, id: string): Promise<boolean> {
  const { rowCount } = await store.db.query(sql.type(NoRows)`
    update ${table(store)} set revoked_at = least(revoked_at, now())
    where ${owner(store)} = ${ownerId(store)} and id = ${id}`);
  return rowCount > 0;
}

/** Revokes the keys that a user created. @returns their ids. */
export async function revokeKeysOf(store: KeyStore, userId: string): Promise<readonly string[]> {
  return store.db.anyFirst(sql.type(IdRow)`
    update ${table(store)} set revoked_at = now()
    where ${owner(store)} = ${ownerId(store)} and created_by_user_id = ${userId} and revoked_at is null
    returning id`);
}

/** Revokes the keys that a user created for an agency and for its clients. @returns their ids. */
export async function revokeKeysInAgency(
  db: SystemDb,
  agencyId: string,
  userId: string,
): Promise<readonly string[]> {
  const own = await revokeKeysOf({ db, agencyId }, userId);
  const ofClients = await db.anyFirst(sql.type(IdRow)`
    update workspace_keys k set revoked_at = now() from workspaces w
    where w.id = k.workspace_id and w.agency_id = ${agencyId} and k.created_by_user_id = ${userId}
      and k.revoked_at is null
    returning k.id`);
  return [...own, ...ofClients];
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

const presentWorkspaceKey = (row: WorkspaceKeyRow): WorkspaceKeyRecord => ({
  ...present(row),
  scopes: row.scopes,
  allowedIps: row.allowedIps,
  mode: row.mode,
});
