import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik';
import {
  AGENCY_LIMITS,
  type AgencyLimit,
  LimitReached,
  WORKSPACE_LIMITS,
  type WorkspaceLimit,
} from '#domain/accounts/limits.ts';
import { CountRow, NameRow, NoRows } from '#db/connection/rows.ts';
import type { SystemTransaction, TenantDb } from '#db/connection/transactions.ts';

const LIVE = sql.fragment`revoked_at is null and (expires_at is null or expires_at > now())`;
/** A stream that was not recorded as alive for this long no longer counts. */
export const STREAM_ALIVE = sql.fragment`interval '30 seconds'`;

/** The rows that count, by limit. */
const COUNTED: Record<WorkspaceLimit, (workspaceId: string) => FragmentSqlToken> = {
  webhooks: (id) => sql.fragment`webhooks where workspace_id = ${id}`,
  apiKeys: (id) => sql.fragment`workspace_keys where workspace_id = ${id} and ${LIVE}`,
  lists: (id) => sql.fragment`lead_lists where workspace_id = ${id} and not is_quick_sends`,
  segments: (id) => sql.fragment`segments where workspace_id = ${id}`,
  campaigns: (id) => sql.fragment`campaigns where workspace_id = ${id} and status <> 'archived'`,
  pools: (id) => sql.fragment`pools where workspace_id = ${id}`,
  lines: (id) =>
    sql.fragment`lines where workspace_id = ${id} and provisioning_status not in ('canceled', 'failed')`,
  rules: (id) => sql.fragment`rules where workspace_id = ${id}`,
  snippets: (id) => sql.fragment`snippets where workspace_id = ${id}`,
  optInLinks: (id) => sql.fragment`opt_in_links where workspace_id = ${id}`,
  savedFilters: (id) => sql.fragment`saved_filters where workspace_id = ${id}`,
  customFields: (id) => sql.fragment`custom_field_names where workspace_id = ${id}`,
  waitingMessages: (id) =>
    // Drips become messages within seconds, unless workers are busy or down.
    sql.fragment`(
      select from messages where workspace_id = ${id} and status in ('pending', 'scheduled')
      union all select from drip_buffer where workspace_id = ${id}
      union all
      -- What campaigns have yet to queue.
      select from campaigns c join list_addresses a
        on a.workspace_id = c.workspace_id and a.list_id = c.list_id and a.lead_id > c.entered_to,
        generate_series(1, jsonb_array_length(c.steps))
      where c.workspace_id = ${id} and c.status in ('active', 'paused') and not c.entered_all) waiting`,
  eventStreams: (id) =>
    sql.fragment`event_streams where workspace_id = ${id} and seen_at > now() - ${STREAM_ALIVE}`,
};

/** How many a workspace has, up to one more than it may have. */
export async function countUsed(
  db: CommonQueryMethods,
  workspaceId: string,
  limit: WorkspaceLimit,
): Promise<number> {
  return db.oneFirst(sql.type(CountRow)`
    select count(*)::int count from (
      select from ${COUNTED[limit](workspaceId)} limit ${WORKSPACE_LIMITS[limit].max + 1}
    ) counted`);
}

/**
 * Requires room for one more. Of concurrent transactions the second waits for the first to end, so that together
 * they do not exceed the limit. Call it before anything else is locked.
 * @throws LimitReached
 */
export async function requireRoom(
  db: TenantDb,
  limit: Exclude<WorkspaceLimit, 'eventStreams'>,
): Promise<void> {
  await lockLimit(db, `${limit} of ${db.workspaceId}`);
  const used = await countUsed(db, db.workspaceId, limit);
  if (used >= WORKSPACE_LIMITS[limit].max) throw new LimitReached(limit);
}

/**
 * Requires room for the messages that a campaign queues. Takes no lock: the workspace may exceed the limit by what is accepted
 * meanwhile.
 * @throws LimitReached
 */
export async function requireRoomForMessages(db: TenantDb, messages: number): Promise<void> {
  const waiting = await countUsed(db, db.workspaceId, 'waitingMessages');
  if (waiting + messages > WORKSPACE_LIMITS.waitingMessages.max) throw new LimitReached('waitingMessages');
}

/** Like `requireRoom`, for webhooks of several workspaces. */
export async function requireRoomForWebhooks(
  db: SystemTransaction,
  workspaceIds: readonly string[],
): Promise<void> {
  const ids = sql.array(workspaceIds.toSorted(), 'text');
  // In one order, and locked before the rows are counted.
  await db.query(sql.type(NoRows)`
    select pg_advisory_xact_lock(hashtextextended('limit webhooks of ' || id, 0)) from unnest(${ids}) id`);
  const isFull = await db.exists(sql.type(NoRows)`
    select 1 from webhooks where workspace_id = any(${ids})
    group by workspace_id having count(*) >= ${WORKSPACE_LIMITS.webhooks.max}`);
  if (isFull) throw new LimitReached('webhooks');
}

/** Like `requireRoom`, for what an agency has. */
export async function requireAgencyRoom(
  db: SystemTransaction,
  agencyId: string,
  limit: Exclude<AgencyLimit, 'invitations' | 'paidLineRequests'>,
): Promise<void> {
  await lockLimit(db, `${limit} of ${agencyId}`);
  const counted = {
    agencyKeys: sql.fragment`agency_keys where agency_id = ${agencyId} and ${LIVE}`,
    workspaces: sql.fragment`workspaces where agency_id = ${agencyId}`,
    newWorkspaces: sql.fragment`workspaces where agency_id = ${agencyId} and created_at > now() - interval '1 hour'`,
  }[limit];
  const used = await db.oneFirst(sql.type(CountRow)`select count(*)::int count from ${counted}`);
  if (used >= AGENCY_LIMITS[limit].max)
    throw new LimitReached(limit, limit === 'newWorkspaces' ? 3600 : null);
}

/** Of concurrent transactions that add to the same, the second waits for the first to end. */
export const lockLimit = (db: TenantDb | SystemTransaction, name: string): Promise<unknown> =>
  db.query(sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended(${`limit ${name}`}, 0))`);

/**
 * Records the names of custom fields that leads are about to have, as far as there is room.
 * @returns those for which there is none.
 */
export async function recordCustomFields(
  db: TenantDb,
  names: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (names.size === 0) return names;
  if ((await newCustomFields(db, names)).length === 0) return new Set();
  await lockLimit(db, `customFields of ${db.workspaceId}`);
  const added = await newCustomFields(db, names);
  const used = await countUsed(db, db.workspaceId, 'customFields');
  const room = Math.max(0, WORKSPACE_LIMITS.customFields.max - used);
  await db.query(sql.type(NoRows)`
    insert into custom_field_names (workspace_id, name)
    select ${db.workspaceId}, name from ${sql.unnest(
      added.slice(0, room).map((name) => [name]),
      ['text'],
    )} as added (name)
    on conflict do nothing`);
  return new Set(added.slice(room));
}

/** The names of the custom fields that contacts of the workspace have, or once had. */
export const knownCustomFields = (db: TenantDb): Promise<readonly string[]> =>
  db.anyFirst(sql.type(NameRow)`
    select name from custom_field_names where workspace_id = ${db.workspaceId} order by name`);

/** The names that are not recorded yet, in their order. */
async function newCustomFields(db: TenantDb, names: ReadonlySet<string>): Promise<string[]> {
  const wanted = [...names].toSorted();
  const known = new Set(
    await db.anyFirst(sql.type(NameRow)`
      select name from custom_field_names
      where workspace_id = ${db.workspaceId} and name = any(${sql.array(wanted, 'text')})`),
  );
  return wanted.filter((name) => !known.has(name));
}

/**
 * Records the names of the custom fields of leads that are about to be saved.
 * @throws LimitReached
 */
export async function requireCustomFields(
  db: TenantDb,
  customFields: readonly Readonly<Record<string, string>>[],
): Promise<void> {
  const tooMany = await recordCustomFields(
    db,
    new Set(customFields.flatMap((fields) => Object.keys(fields))),
  );
  if (tooMany.size > 0) throw new LimitReached('customFields');
}
