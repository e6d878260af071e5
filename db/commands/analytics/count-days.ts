import { sql } from 'slonik';
import { z } from 'zod';
import { AddressRow, NoRows, WorkspaceIdRow } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { recount } from './recount.ts';

/** Contacts whose changes are added by one statement, which reads all of their messages. */
const CONTACTS = 250;
/** Messages that are read by one statement while a workspace is counted for the first time, besides those of the last contact. */
const MESSAGES = 20_000;
/** Days or hours that are dropped by one statement before a workspace is counted anew. */
const DROPPED = 50_000;

/** The workspaces whose daily and hourly counts are not up to date. */
export async function uncountedWorkspaces(db: SystemDb): Promise<readonly string[]> {
  return db.anyFirst(sql.type(WorkspaceIdRow)`
    select w.id workspace_id from workspaces w left join analytics_progress p on p.workspace_id = w.id
    where p.workspace_id is null or not p.is_complete or p.time_zone <> w.timezone
    union
    select distinct workspace_id from analytics_changes`);
}

/** The workspaces with at least this many uncounted changes. */
export async function busyWorkspaces(db: SystemDb, changes: number): Promise<readonly string[]> {
  return db.anyFirst(sql.type(WorkspaceIdRow)`
    select workspace_id from analytics_changes group by workspace_id having count(*) >= ${changes}`);
}

const ProgressRow = z.object({
  timeZone: z.string(),
  countedTo: z.string(),
  isComplete: z.boolean(),
  isOtherZone: z.boolean(),
});
type Progress = z.infer<typeof ProgressRow>;

/**
 * Adds some of a workspace's changes to its counts, or counts some of its contacts for the first time.
 * @returns whether there is more to do.
 */
export async function countSome(db: TenantDb): Promise<boolean> {
  const progress = await begin(db);
  if (await addChanges(db, progress)) return true;
  if (progress.isOtherZone) {
    await startAnew(db);
    return true;
  }
  if (progress.isComplete) return false;
  const isFirst = progress.countedTo === '';
  return (isFirst && (await dropCounted(db))) || countContacts(db, progress);
}

/**
 * Adds some of the changes, unless another process is doing so or the workspace is not counted.
 * @returns whether there is more to do.
 */
export async function addSomeChanges(db: TenantDb): Promise<boolean> {
  await prepare(db);
  const progress = await db.maybeOne(
    sql.type(ProgressRow)`${progressOf(db)} and p.is_complete for update of p skip locked`,
  );
  return progress !== null && addChanges(db, progress);
}

/**
 * Adds changes of erased contacts, so that nothing names these contacts any more.
 * @returns whether there is more to do.
 */
export async function addChangesOfErased(db: TenantDb, addresses: readonly string[]): Promise<boolean> {
  const progress = await begin(db);
  if (await addChanges(db, progress)) return true;
  const before = (table: string) => sql.fragment`
    select max(address) address from ${sql.identifier([table])}
    where workspace_id = ${db.workspaceId} and address < ${progress.countedTo}`;
  if (addresses.includes(progress.countedTo))
    await db.query(sql.type(NoRows)`
      update analytics_progress set counted_to = coalesce(
        (select max(address) from (${before('messages')} union all ${before('inbound_messages')}) a), '')
      where workspace_id = ${db.workspaceId}`);
  return false;
}

/** Locks the progress of the workspace for this transaction. */
async function begin(db: TenantDb): Promise<Progress> {
  const { workspaceId } = db;
  await prepare(db);
  await db.query(sql.type(NoRows)`
    insert into analytics_progress (workspace_id, time_zone) select id, timezone from workspaces where id = ${workspaceId}
    on conflict do nothing`);
  return db.one(sql.type(ProgressRow)`${progressOf(db)} for update of p`);
}

const progressOf = ({ workspaceId }: TenantDb) => sql.fragment`
  select p.time_zone, p.counted_to, p.is_complete, w.timezone <> p.time_zone is_other_zone
  from analytics_progress p join workspaces w on w.id = p.workspace_id
  where p.workspace_id = ${workspaceId}`;

async function prepare(db: TenantDb): Promise<void> {
  // Contacts with a long history take long to count. A plan that was kept since the tables were small would read all of
  // `messages` for each contact.
  await db.query(sql.type(NoRows)`
    select set_local('statement_timeout', '120s'), set_local('plan_cache_mode', 'force_custom_plan')`);
}

const TakenRow = z.object({ addresses: z.array(z.string()), numbers: z.array(z.string()) });

/** Adds the changes of contacts that are counted, and deletes those of others, whose current state will be counted. */
async function addChanges(db: TenantDb, { timeZone, countedTo, isComplete }: Progress): Promise<boolean> {
  const { workspaceId } = db;
  const taken = await db.one(sql.type(TakenRow)`
    with changed as materialized (
      select distinct address from analytics_changes where workspace_id = ${workspaceId} order by address limit ${CONTACTS}
    ),
    ${recount({
      workspaceId,
      timeZone,
      contacts: sql.fragment`select address from changed where ${isComplete} or address <= ${countedTo}`,
      taken: sql.fragment`address = any(array(select address from changed))`,
      areCounted: true,
    })},
    ${addCells(db)}
    ${TAKEN}`);
  await forget(db, taken);
  return new Set(taken.addresses).size === CONTACTS;
}

/**
 * The changes of `taken`. They are deleted by a later statement: where tables are distributed, a statement no longer reads what it
 * has deleted.
 */
const TAKEN = sql.fragment`
  select coalesce(array_agg(address), '{}') addresses, coalesce(array_agg(number::text), '{}') numbers from taken`;

async function forget(db: TenantDb, { addresses, numbers }: z.infer<typeof TakenRow>): Promise<void> {
  if (numbers.length === 0) return;
  await db.query(sql.type(NoRows)`
    delete from analytics_changes c
    using ${sql.unnest(
      numbers.map((number, index) => [addresses[index] ?? '', number]),
      ['text', 'int8'],
    )} as t (address, number)
    where c.workspace_id = ${db.workspaceId} and c.address = t.address and c.number = t.number`);
}

/** Common table expressions that add `cells`. */
const addCells = ({ workspaceId }: TenantDb) => sql.fragment`
  by_day as (
    insert into analytics_days as d (workspace_id, subject_id, day, metric, previous_day, contacts, messages)
    select ${workspaceId}, subject_id, day, metric, previous_day, contacts, messages from cells where hour is null
    on conflict (workspace_id, subject_id, day, metric, previous_day)
    do update set contacts = d.contacts + excluded.contacts, messages = d.messages + excluded.messages
  ),
  by_hour as (
    insert into analytics_hours as h (workspace_id, hour, metric, contacts, messages)
    select ${workspaceId}, hour, metric, contacts, messages from cells where hour is not null
    on conflict (workspace_id, hour, metric)
    do update set contacts = h.contacts + excluded.contacts, messages = h.messages + excluded.messages
  )`;

/** Days of another time zone cannot be converted. */
async function startAnew(db: TenantDb): Promise<void> {
  await db.query(sql.type(NoRows)`
    update analytics_progress p set is_complete = false, counted_to = '', time_zone = w.timezone
    from workspaces w where w.id = p.workspace_id and p.workspace_id = ${db.workspaceId}`);
}

/** Deletes earlier counts. @returns whether there were any. */
async function dropCounted(db: TenantDb): Promise<boolean> {
  const drop = async (table: string): Promise<number> => {
    const { rowCount } = await db.query(sql.type(NoRows)`
      delete from ${sql.identifier([table])} where workspace_id = ${db.workspaceId} and ctid = any(array(
        select ctid from ${sql.identifier([table])} where workspace_id = ${db.workspaceId} limit ${DROPPED}))`);
    return rowCount;
  };
  return (await drop('analytics_days')) > 0 || (await drop('analytics_hours')) > 0;
}

/** Counts the next contacts, by their addresses. */
async function countContacts(db: TenantDb, { timeZone, countedTo }: Progress): Promise<boolean> {
  const { workspaceId } = db;
  const next = sql.fragment`workspace_id = ${workspaceId} and address > ${countedTo}`;
  const addresses = await db.anyFirst(sql.type(AddressRow)`
    select address from (
      (select address from messages where ${next} order by address limit ${MESSAGES})
      union all
      (select address from inbound_messages where ${next} order by address limit ${MESSAGES})
    ) a order by address limit ${MESSAGES}`);
  const isComplete = addresses.length < MESSAGES;
  const last = isComplete ? '' : (addresses.at(-1) ?? '');
  // Finally all remaining contacts, because one may have been added since.
  const these = isComplete ? next : sql.fragment`${next} and address <= ${last}`;
  const taken = await db.one(sql.type(TakenRow)`
    with ${recount({
      workspaceId,
      timeZone,
      contacts: sql.fragment`
        select address from messages where ${these} union select address from inbound_messages where ${these}
        union select address from analytics_changes where ${these}`,
      taken: sql.fragment`${these} and address in (select address from contact)`,
      areCounted: false,
    })},
    ${addCells(db)}
    ${TAKEN}`);
  await forget(db, taken);
  await db.query(sql.type(NoRows)`
    update analytics_progress set counted_to = ${last}, is_complete = ${isComplete} where workspace_id = ${workspaceId}`);
  return !isComplete;
}
