import { sql } from 'slonik';
import { z } from 'zod';
import type { Channel } from '#domain/base/channel.ts';
import { realTime } from '#domain/base/clock.ts';
import { lineKind } from '#domain/billing/entitlement.ts';
import { newId, newWorkspaceId } from '#domain/base/ids.ts';
import { LimitReached } from '#domain/accounts/limits.ts';
import { DEFAULT_LIMITS } from '#domain/sending/line-limits.ts';
import {
  MAX_TEST_LINES,
  MAX_TEST_MESSAGES,
  TEST_CARRIER,
  testLineAddress,
} from '#domain/test-mode/test-mode.ts';
import { CountRow, IdRow, NoRows } from '#db/connection/rows.ts';
import { inWorkspace } from '#db/queries/accounts/agency.ts';
import { lockLimit } from '#db/queries/accounts/limits.ts';
import { addLookup } from '#db/queries/accounts/lookups.ts';
import type { SystemDb, SystemTransaction, TenantDb } from '#db/connection/transactions.ts';

/** The largest plan, because lines cost nothing here. */
const PLAN = 'growth';
const FIRST_LINES: readonly Channel[] = ['imessage', 'sms', 'email'];

export async function findTwin(db: SystemDb, liveWorkspaceId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(IdRow)`
    select id from workspaces where live_workspace_id = ${liveWorkspaceId}`);
}

/**
 * Gives the twin of a workspace its new name. Commits at once, because the transaction of a workspace sees no other: after a
 * rename that fails, the names differ until the next one.
 */
export async function renameTwin({ autocommit, workspaceId }: TenantDb, name: string): Promise<void> {
  await autocommit.query(sql.type(NoRows)`
    update workspaces set name = ${name} where live_workspace_id = ${workspaceId}`);
}

/** The twin of a workspace, created on first use with a line of each channel. @returns its id. */
export async function ensureTwin(db: SystemTransaction, liveWorkspaceId: string): Promise<string> {
  const id = newWorkspaceId();
  if (await insertTwin(db, id, liveWorkspaceId, null)) return id;
  const twin = await findTwin(db, liveWorkspaceId);
  if (twin === null) throw new Error(`there is no workspace ${liveWorkspaceId}`);
  return twin;
}

/**
 * @param startsAt what its clock shows now; null: the real time.
 * @returns false if the live workspace has a twin.
 */
async function insertTwin(
  db: SystemTransaction,
  id: string,
  liveWorkspaceId: string,
  startsAt: Date | null,
): Promise<boolean> {
  const made = await db.maybeOneFirst(sql.type(IdRow)`
    insert into workspaces (id, name, legal_name, timezone, country, plan, subscription_status, live_workspace_id)
    select ${id}, name, legal_name, timezone, country, ${PLAN}, 'active', id from workspaces where id = ${liveWorkspaceId}
    on conflict (live_workspace_id) where live_workspace_id is not null do nothing
    returning id`);
  if (made === null) return false;
  const aheadMs = startsAt === null ? 0 : startsAt.getTime() - realTime().getTime();
  await db.query(sql.type(NoRows)`
    insert into test_clocks (workspace_id, ahead_ms) values (${id}, ${Math.round(aheadMs)})`);
  await db.query(sql.type(NoRows)`
    insert into fallback_configs (workspace_id, enabled, provider, from_number)
    values (${id}, true, ${TEST_CARRIER}, ${testLineAddress('sms', 0)})`);
  for (const channel of FIRST_LINES)
    await insertTestLine(inWorkspace(db, { id }), { channel, firstName: 'Test', lastName: 'Line' });
  return true;
}

const LiveRow = z.object({ liveWorkspaceId: z.string() });
const TableRow = z.object({ name: z.string() });

/** What others lock one row after the other, in the lock order, each by its key. */
const LOCKED = [
  ['campaigns', 'id'],
  ['leads', 'id'],
  ['lines', 'id'],
  ['conversations', 'address'],
  ['messages', 'id'],
] as const;

/** The tables of tenants, from the catalog, so that none is forgotten; leads first, because lists do not take theirs along. */
const tenantTables = (db: SystemDb): Promise<readonly string[]> =>
  db.anyFirst(sql.type(TableRow)`
    select c.relname::text name from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id' and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and has_table_privilege(c.oid, 'delete')
    order by c.relname <> 'leads', c.relname`);

/**
 * Deletes everything in a twin, with its settings. It keeps its id, so that keys and sessions go on, and is as when it was created. The
 * caller deletes its files.
 * @param startsAt what its clock then shows; null: the real time.
 */
export async function emptyTwin(db: SystemTransaction, id: string, startsAt: Date | null): Promise<void> {
  await db.query(sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended(${`empty ${id}`}, 0))`);
  const liveWorkspaceId = await db.oneFirst(sql.type(LiveRow)`
    select live_workspace_id from workspaces where id = ${id} and live_workspace_id is not null`);
  for (const [table, key] of LOCKED)
    await db.query(sql.type(NoRows)`
      select from ${sql.identifier([table])} where workspace_id = ${id} order by ${sql.identifier([key])} for update`);
  for (const table of await tenantTables(db))
    await db.query(sql.type(NoRows)`delete from ${sql.identifier([table])} where workspace_id = ${id}`);
  await db.query(sql.type(NoRows)`delete from workspaces where id = ${id}`);
  await insertTwin(db, id, liveWorkspaceId, startsAt);
}

/** The files of a workspace. */
export const storedFiles = (db: SystemDb, workspaceId: string): Promise<readonly string[]> =>
  db.anyFirst(sql.type(IdRow)`select id from attachments where workspace_id = ${workspaceId}`);

const countTestLines = (db: TenantDb): Promise<number> =>
  db.oneFirst(sql.type(CountRow)`
    select count(*)::int count from lines where workspace_id = ${db.workspaceId}`);

/** @throws LimitReached */
export async function requireRoomForTestLine(db: TenantDb): Promise<void> {
  await lockLimit(db, `test lines of ${db.workspaceId}`);
  if ((await countTestLines(db)) >= MAX_TEST_LINES) throw new LimitReached('testLines');
}

export interface NewTestLine {
  channel: Channel;
  firstName: string;
  lastName: string;
  source?: 'api' | 'dashboard';
}

/** Adds a line that can send at once. @returns its id. */
export async function insertTestLine(
  db: TenantDb,
  { channel, firstName, lastName, source = 'api' }: NewTestLine,
): Promise<string> {
  const id = newId();
  const limits = DEFAULT_LIMITS[channel];
  const lines = await countTestLines(db);
  await db.query(sql.type(NoRows)`
    insert into lines (workspace_id, id, channel, ${sql.identifier([lineKind(channel)])}, line_type, first_name, last_name,
      provisioning_status, payment_status, request_source, is_active, carrier, health_status, health_checked_at,
      daily_total_limit, daily_new_limit, hourly_new_limit, min_gap_seconds, contact_gap_seconds)
    values (${db.workspaceId}, ${id}, ${channel}, ${testLineAddress(channel, lines + 1)}, 'purchased', ${firstName}, ${lastName},
      'active', 'not_required', ${source}, true, ${TEST_CARRIER}, 'healthy', ${sql.timestamp(realTime())},
      ${limits.dailyTotal}, ${limits.dailyNew}, null, ${limits.minGapSeconds}, ${limits.contactGapSeconds})`);
  await addLookup(db, 'line', id);
  return id;
}

/** Whether a workspace in test mode holds as many messages as it may. */
export const isTestFull = async (db: TenantDb): Promise<boolean> =>
  (await countTestMessages(db)) >= MAX_TEST_MESSAGES;

/** @throws LimitReached if a workspace in test mode may not hold as many more messages. */
export async function requireRoomForTestMessages(db: TenantDb, more: number): Promise<void> {
  if ((await countTestMessages(db)) + more > MAX_TEST_MESSAGES) throw new LimitReached('testMessages');
}

const countTestMessages = (db: TenantDb): Promise<number> =>
  db.oneFirst(sql.type(CountRow)`
    select count(*)::int count from (
      select from messages where workspace_id = ${db.workspaceId} limit ${MAX_TEST_MESSAGES}
    ) counted`);
