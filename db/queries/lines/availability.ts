import { sql } from 'slonik';
import { z } from 'zod';
import {
  type AvailabilityResult,
  DAILY_CHECKS_PER_LINE,
  AVAILABLE_CACHE_HOURS,
  type UnverifiedReason,
} from '#domain/lines/availability.ts';
import { dayBounds } from '#domain/base/calendar.ts';
import { newId } from '#domain/base/ids.ts';
import { isVisible } from '../contacts/leads.ts';
import { advanceRotation, usableLines } from './lines.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** Whether an address was found to have iMessage within the last 24 hours. */
export async function isKnownAvailable(db: TenantDb, address: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from available_addresses where workspace_id = ${db.workspaceId} and address = ${address}
      and checked_at > now() - make_interval(hours => ${AVAILABLE_CACHE_HOURS})`);
}

export async function cacheAvailable(db: TenantDb, address: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into available_addresses (workspace_id, address, checked_at)
    values (${db.workspaceId}, ${address}, ${sql.timestamp(now)})
    on conflict (workspace_id, address) do update set checked_at = excluded.checked_at`);
}

const LineUsageRow = z.object({ lineId: z.string(), count: z.int() });

/** Reserves one of today's checks on the next healthy line that has any left, round-robin. */
export async function reserveCheck(
  db: TenantDb,
  timezone: string,
  now: Date,
): Promise<{ lineId: string } | UnverifiedReason> {
  const healthy = (await usableLines(db)).filter(
    ({ channel, down, unconnected }) => channel === 'imessage' && !down && !unconnected,
  );
  if (healthy.length === 0) return 'no_healthy_line';
  const first = await advanceRotation(db, 'imessage', 1);
  // Held until the commit, so that two requests cannot both take the last check.
  await db.query(sql.type(NoRows)`
    select pg_advisory_xact_lock(hashtextextended(${`availability checks of ${db.workspaceId}`}, 0))`);
  const used = await db.any(sql.type(LineUsageRow)`
    select line_id, count(*) "count" from availability_checks
    where workspace_id = ${db.workspaceId} and checked_at >= ${sql.timestamp(dayBounds(timezone, now).start)}
    group by line_id`);
  const usedBy = new Map(used.map(({ lineId, count }) => [lineId, count]));
  for (let turn = 0; turn < healthy.length; turn++) {
    const lineId = healthy[(first + turn) % healthy.length]?.id ?? '';
    if ((usedBy.get(lineId) ?? 0) >= DAILY_CHECKS_PER_LINE) continue;
    await db.query(sql.type(NoRows)`
      insert into availability_checks (workspace_id, line_id, id, checked_at)
      values (${db.workspaceId}, ${lineId}, ${newId(now)}, ${sql.timestamp(now)})`);
    return { lineId };
  }
  return 'daily_quota_exhausted';
}

/** Stores the result of a lead's check. If no line could make the check, an earlier result is kept. */
export async function storeAvailability(
  db: TenantDb,
  leadId: string,
  { status, unverified }: AvailabilityResult,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update leads set status = ${status}, updated_at = now()
    where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId} and id = ${leadId}`,
      unverified && sql.fragment`status is null`,
    ])}`);
}

const JobRow = z.object({
  id: z.string(),
  status: z.enum(['running', 'completed']),
  leadIds: z.array(z.string()),
  checked: z.int(),
  available: z.int(),
  unavailable: z.int(),
  errors: z.int(),
});
export type AvailabilityJobRow = z.infer<typeof JobRow>;

export async function insertJob(db: TenantDb, leadIds: readonly string[]): Promise<AvailabilityJobRow> {
  return db.one(sql.type(JobRow)`
    insert into availability_jobs (workspace_id, id, lead_ids)
    values (${db.workspaceId}, ${newId()}, ${sql.array([...leadIds], 'text')}) returning *`);
}

export async function findJob(db: TenantDb, id: string): Promise<AvailabilityJobRow | null> {
  return db.maybeOne(sql.type(JobRow)`
    select * from availability_jobs where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/**
 * Counts the result of the lead at `index`; the last one completes the job.
 * @returns false if it has been counted already.
 */
export async function countResult(
  db: TenantDb,
  id: string,
  index: number,
  status: 'available' | 'unavailable' | 'error',
): Promise<boolean> {
  const column = status === 'error' ? 'errors' : status;
  const { rowCount } = await db.query(sql.type(NoRows)`
    update availability_jobs set checked = checked + 1, ${sql.identifier([column])} = ${sql.identifier([column])} + 1,
      status = case when checked + 1 >= cardinality(lead_ids) then 'completed' else 'running' end
    where workspace_id = ${db.workspaceId} and id = ${id} and checked = ${index}`);
  return rowCount === 1;
}

/** The existing leads among `leadIds`, or all leads in a list. */
export async function leadsToCheck(
  db: TenantDb,
  { leadIds, listId }: { leadIds?: readonly string[] | undefined; listId?: string | undefined },
): Promise<string[]> {
  const ids = await db.anyFirst(sql.type(IdRow)`
    select id from leads where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId}`,
      leadIds && sql.fragment`id = any(${sql.array([...leadIds], 'text')})`,
      isVisible(db),
      listId !== undefined &&
        sql.fragment`id in (select lead_id from list_addresses where workspace_id = ${db.workspaceId} and list_id = ${listId})`,
    ])} order by id`);
  return [...ids];
}
