import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import {
  type CrmConnection,
  type CrmConnectionInput,
  CrmProviderName,
  CRM_FAILURES_TO_SET_ASIDE,
} from '#domain/crm/crm.ts';

export const CrmConnectionRow = z.object({
  id: z.string(),
  provider: CrmProviderName,
  accountId: z.string(),
  tokenSealed: z.string(),
  listId: z.string().nullable(),
  campaignId: z.string().nullable(),
  createContacts: z.boolean(),
  status: z.enum(['active', 'broken']),
  error: z.string().nullable(),
  failingSince: z.date().nullable(),
  pausedUntil: z.date().nullable(),
  readUntil: z.date(),
  readAfter: z.string().nullable(),
  syncedAt: z.date().nullable(),
  createdAt: z.date(),
});
export type CrmConnectionRow = z.infer<typeof CrmConnectionRow>;

const Shown = CrmConnectionRow.extend({ waiting: z.int(), setAside: z.int() });

const shown = (db: TenantDb) => sql.fragment`
  select c.*, o.* from crm_connections c
  cross join lateral (
    select count(*) filter (where failures < ${CRM_FAILURES_TO_SET_ASIDE})::int waiting,
      count(*) filter (where failures >= ${CRM_FAILURES_TO_SET_ASIDE})::int set_aside
    from crm_outbox where workspace_id = ${db.workspaceId} and connection_id = c.id) o
  where c.workspace_id = ${db.workspaceId}`;

export const listCrmConnections = (db: TenantDb): Promise<readonly z.infer<typeof Shown>[]> =>
  db.any(sql.type(Shown)`${shown(db)} order by c.id desc`);

export const showCrmConnection = (db: TenantDb, id: string): Promise<z.infer<typeof Shown> | null> =>
  db.maybeOne(sql.type(Shown)`${shown(db)} and c.id = ${id}`);

export const findCrmConnection = (db: TenantDb, id: string): Promise<CrmConnectionRow | null> =>
  db.maybeOne(sql.type(CrmConnectionRow)`
    select * from crm_connections where workspace_id = ${db.workspaceId} and id = ${id}`);

const IdRow = z.object({ id: z.string() });

export const crmConnectionIds = (db: TenantDb): Promise<readonly string[]> =>
  db.anyFirst(sql.type(IdRow)`
    select id from crm_connections where workspace_id = ${db.workspaceId} order by id`);

const PlaceRow = z.object({ workspaceId: z.string(), id: z.string() });

/** The connection to an account, of all workspaces; the latest, if several have connected it. */
export const crmConnectionOfAccount = (
  db: SystemDb,
  provider: CrmProviderName,
  accountId: string,
): Promise<z.infer<typeof PlaceRow> | null> =>
  db.maybeOne(sql.type(PlaceRow)`
    select workspace_id, id from crm_connections where provider = ${provider} and account_id = ${accountId}
    order by id desc limit 1`);

/** The connection to a provider, of which a workspace has one. Locks it. */
export const lockCrmConnectionOf = (
  db: TenantDb,
  provider: CrmProviderName,
): Promise<CrmConnectionRow | null> =>
  db.maybeOne(sql.type(CrmConnectionRow)`
    select * from crm_connections where workspace_id = ${db.workspaceId} and provider = ${provider}
    for no key update`);

/** @returns its id; null: the workspace has got a connection to the provider in the meantime. */
export async function insertCrmConnection(
  db: TenantDb,
  { provider, listId, campaignId, importExisting, createContacts = false }: CrmConnectionInput,
  given: { id: string; accountId: string; tokenSealed: string; userId: string | null; readFrom: Date },
  now: Date,
): Promise<boolean> {
  const { id, accountId, tokenSealed, userId, readFrom } = given;
  const from = importExisting ? new Date(0) : readFrom;
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into crm_connections
      (workspace_id, id, provider, account_id, token_sealed, list_id, campaign_id, create_contacts, read_until, created_by_user_id, created_at)
    values (${db.workspaceId}, ${id}, ${provider}, ${accountId}, ${tokenSealed}, ${listId ?? null}, ${campaignId ?? null},
      ${createContacts}, ${sql.timestamp(from)}, ${userId}, ${sql.timestamp(now)})
    on conflict (workspace_id, provider) do nothing`);
  return rowCount > 0;
}

/** Connects again: with another token, and with what else the caller names. */
export async function reconnectCrm(
  db: TenantDb,
  { id, tokenSealed }: { id: string; tokenSealed: string },
  {
    listId,
    campaignId,
    createContacts,
  }: Pick<CrmConnectionInput, 'listId' | 'campaignId' | 'createContacts'>,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update crm_connections set token_sealed = ${tokenSealed}, status = 'active', error = null, failing_since = null,
      paused_until = null, list_id = coalesce(${listId ?? null}, list_id), campaign_id = coalesce(${campaignId ?? null}, campaign_id),
      create_contacts = coalesce(${createContacts ?? null}, create_contacts)
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** The provider has given another token for the one with which it was asked. */
export async function renewCrmToken(
  db: TenantDb,
  { id, tokenSealed }: Pick<CrmConnectionRow, 'id' | 'tokenSealed'>,
  renewed: string,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update crm_connections set token_sealed = ${renewed}
    where workspace_id = ${db.workspaceId} and id = ${id} and token_sealed = ${tokenSealed}`);
}

/** The provider accepts the token: it is asked again at once. */
export async function resumeCrm(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update crm_connections set status = 'active', error = null, failing_since = null, paused_until = null
    where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/** Deletes a connection with its token, its links, its outbox and its log. @returns false if there is none. */
export async function deleteCrmConnection(db: TenantDb, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from crm_connections where workspace_id = ${db.workspaceId} and id = ${id}`);
  await clearCrmOutbox(db, id);
  return rowCount > 0;
}

/** Nothing is pushed any more. */
export async function clearCrmOutbox(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from crm_outbox where workspace_id = ${db.workspaceId} and connection_id = ${id}`);
}

/** Changes were read up to there. @param token with which they were read: another account may be connected now. */
export async function advanceCrm(
  db: TenantDb,
  { id, tokenSealed }: Pick<CrmConnectionRow, 'id' | 'tokenSealed'>,
  { readUntil, readAfter }: Pick<CrmConnectionRow, 'readUntil' | 'readAfter'>,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update crm_connections set read_until = ${sql.timestamp(readUntil)}, read_after = ${readAfter}
    where workspace_id = ${db.workspaceId} and id = ${id} and token_sealed = ${tokenSealed}`);
}

/** Everything is read and pushed. @returns whether it had failed before. */
export async function recordCrmSync(db: TenantDb, id: string, at: Date): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update crm_connections set status = 'active', error = null, failing_since = null, paused_until = null, synced_at = ${sql.timestamp(at)}
    where workspace_id = ${db.workspaceId} and id = ${id} and (error is not null or paused_until is not null)`);
  if (rowCount > 0) return true;
  await db.query(sql.type(NoRows)`
    update crm_connections set synced_at = ${sql.timestamp(at)} where workspace_id = ${db.workspaceId} and id = ${id}`);
  return false;
}

const FailingRow = z.object({ failingSince: z.date() });

/**
 * @param failure.pausedUntil the provider wants to be left alone until then; null: it did not say.
 * @returns since when it fails; null: another token was given in the meantime.
 */
export async function recordCrmFailure(
  db: TenantDb,
  { id, tokenSealed }: Pick<CrmConnectionRow, 'id' | 'tokenSealed'>,
  { status, error, pausedUntil }: Pick<CrmConnectionRow, 'status' | 'error' | 'pausedUntil'>,
  now: Date,
): Promise<Date | null> {
  const paused = pausedUntil === null ? null : sql.timestamp(pausedUntil);
  return db.maybeOneFirst(sql.type(FailingRow)`
    update crm_connections set status = ${status}, error = ${error}, paused_until = ${paused},
      failing_since = coalesce(failing_since, ${sql.timestamp(now)})
    where workspace_id = ${db.workspaceId} and id = ${id} and token_sealed = ${tokenSealed}
    returning failing_since`);
}

export const presentCrmConnection = (row: z.infer<typeof Shown>): CrmConnection => ({
  _id: row.id,
  provider: row.provider,
  accountId: row.accountId,
  listId: row.listId,
  campaignId: row.campaignId,
  createContacts: row.createContacts,
  status: row.status,
  error: row.error,
  failingSince: row.failingSince?.toISOString() ?? null,
  pausedUntil: row.pausedUntil?.toISOString() ?? null,
  syncedAt: row.syncedAt?.toISOString() ?? null,
  waiting: row.waiting,
  setAside: row.setAside,
  createdAt: row.createdAt.toISOString(),
});
