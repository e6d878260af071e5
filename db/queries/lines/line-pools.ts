import { createHash } from 'node:crypto';
import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import {
  type Pool,
  type PoolInput,
  PoolLine,
  type PoolPatch,
  Pool as PoolSchema,
} from '#domain/lines/pool.ts';
import type { PoolMember } from '#domain/lines/pool-choice.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const PoolRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  name: z.string(),
  strategy: PoolSchema.shape.strategy,
  sticky: z.boolean(),
  failover: PoolSchema.shape.failover,
  failoverAfterMinutes: z.int(),
  createdAt: z.date(),
  updatedAt: z.date(),
  lines: z.array(PoolLine),
});
export type PoolRow = z.infer<typeof PoolRow>;

/** Those of its lines that are still in the workspace. */
const withLines = (db: TenantDb) => sql.fragment`
  p.*, coalesce((
    select jsonb_agg(jsonb_build_object('lineId', pl.line_id, 'weight', pl.weight) order by pl.place)
    from pool_lines pl join lines l on l.workspace_id = pl.workspace_id and l.id = pl.line_id
    where pl.workspace_id = ${db.workspaceId} and pl.pool_id = p.id), '[]') lines`;

/** Newest first; returns `limit + 1` rows if there are more. */
export async function pageOfPools(
  db: TenantDb,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<PoolRow[]> {
  const rows = await db.any(sql.type(PoolRow)`
    select ${withLines(db)} from pools p where p.workspace_id = ${db.workspaceId}
      ${cursor === undefined ? sql.fragment`` : sql.fragment`and p.id < ${cursor}`}
    order by p.id desc limit ${limit + 1}`);
  return [...rows];
}

/** Those of the pools that are the workspace's. */
export async function findPools(db: TenantDb, ids: readonly string[]): Promise<PoolRow[]> {
  if (ids.length === 0) return [];
  const rows = await db.any(sql.type(PoolRow)`
    select ${withLines(db)} from pools p
    where p.workspace_id = ${db.workspaceId} and p.id = any(${sql.array([...new Set(ids)], 'text')})`);
  return [...rows];
}

export async function findPool(db: TenantDb, id: string): Promise<PoolRow | null> {
  return (await findPools(db, [id]))[0] ?? null;
}

const StoppedLinePool = PoolRow.pick({ id: true, failover: true, failoverAfterMinutes: true });
export type StoppedLinePool = z.infer<typeof StoppedLinePool>;

/** The pools of a line that give its messages to other lines when it stops. */
export async function poolsThatFailOver(db: TenantDb, lineId: string): Promise<readonly StoppedLinePool[]> {
  return db.any(sql.type(StoppedLinePool)`
    select p.id, p.failover, p.failover_after_minutes
    from pool_lines pl join pools p on p.workspace_id = pl.workspace_id and p.id = pl.pool_id
    where pl.workspace_id = ${db.workspaceId} and pl.line_id = ${lineId} and p.failover <> 'never' order by p.id`);
}

export async function insertPool(db: TenantDb, input: PoolInput, now: Date): Promise<PoolRow> {
  const id = newId(now);
  const { name, strategy, sticky, failover, failoverAfterMinutes } = input;
  await db.query(sql.type(NoRows)`
    insert into pools (workspace_id, id, name, strategy, sticky, failover, failover_after_minutes)
    values (${db.workspaceId}, ${id}, ${name}, ${strategy}, ${sticky}, ${failover}, ${failoverAfterMinutes})`);
  await setLines(db, id, input.lines);
  const row = await findPool(db, id);
  if (!row) throw new Error('the pool was not inserted');
  return row;
}

/** @returns null if there is no such pool. */
export async function updatePool(db: TenantDb, id: string, patch: PoolPatch): Promise<PoolRow | null> {
  const { name = null, strategy = null, sticky = null, failover = null, failoverAfterMinutes = null } = patch;
  const { rowCount } = await db.query(sql.type(NoRows)`
    update pools set name = coalesce(${name}::text, name), strategy = coalesce(${strategy}::text, strategy),
      sticky = coalesce(${sticky}::boolean, sticky), failover = coalesce(${failover}::text, failover),
      failover_after_minutes = coalesce(${failoverAfterMinutes}::integer, failover_after_minutes), updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id}`);
  if (rowCount === 0) return null;
  if (patch.lines) await setLines(db, id, patch.lines);
  return findPool(db, id);
}

async function setLines(db: TenantDb, poolId: string, lines: readonly PoolLine[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from pool_lines where workspace_id = ${db.workspaceId} and pool_id = ${poolId}`);
  await db.query(sql.type(NoRows)`
    delete from pool_rotations where workspace_id = ${db.workspaceId} and pool_id = ${poolId}`);
  await db.query(sql.type(NoRows)`
    insert into pool_lines (workspace_id, pool_id, line_id, weight, place)
    select ${db.workspaceId}, ${poolId}, l.line_id, l.weight, l.place
    from ${sql.unnest(
      lines.map(({ lineId, weight }, place) => [lineId, weight, place]),
      ['text', 'int2', 'int2'],
    )} as l (line_id, weight, place)
    ${ROWS_INSERTED}`);
}

const UsingRow = z.object({ id: z.string(), name: z.string() });
const MAX_SHOWN = 20;

/** The campaigns that are not over and use a pool, up to `MAX_SHOWN`. */
export async function campaignsOfPool(
  db: TenantDb,
  poolId: string,
): Promise<readonly z.infer<typeof UsingRow>[]> {
  return db.any(sql.type(UsingRow)`
    select id, name from campaigns
    where workspace_id = ${db.workspaceId} and pool_id = ${poolId} and status in ('draft', 'active', 'paused')
      and deleted_at is null
    order by id desc limit ${MAX_SHOWN}`);
}

/** Waiting messages keep their line, and are then treated like messages without a pool. */
export async function deletePool(db: TenantDb, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from pools where workspace_id = ${db.workspaceId} and id = ${id}`);
  return rowCount > 0;
}

/** Removes a line that leaves its workspace from the pools there. */
export async function leavePools(db: TenantDb, lineId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from pool_lines where workspace_id = ${db.workspaceId} and line_id = ${lineId}`);
}

const RotationRow = z.object({ lines: z.string(), position: z.int() });

/** Identifies the rotation of a pool over some of its lines. */
export const rotationOf = (members: readonly Pick<PoolMember, 'id' | 'weight'>[]): string =>
  createHash('md5')
    .update(members.map(({ id, weight }) => `${id} ${weight}`).join())
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/**
 * Advances rotations of a pool by a number of turns each, in a transaction of its own.
 * @param turns by `rotationOf`.
 * @returns the positions before.
 */
export async function advancePool(
  db: TenantDb,
  poolId: string,
  turns: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  if (turns.size === 0) return new Map();
  const rows = await db.autocommit.any(sql.type(RotationRow)`
    insert into pool_rotations (workspace_id, pool_id, lines, position)
    select p.workspace_id, p.id, t.lines, t.turns
    from pools p, ${sql.unnest(
      [...turns].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ['uuid', 'int8'],
    )} as t (lines, turns)
    where p.workspace_id = ${db.workspaceId} and p.id = ${poolId}
    on conflict (workspace_id, pool_id, lines)
      do update set position = pool_rotations.position + excluded.position
    returning lines::text, position`);
  return new Map(rows.map(({ lines, position }) => [lines, position - (turns.get(lines) ?? 0)]));
}

const UsedRow = z.object({ lineId: z.string(), used: z.int() });

/** More messages than these in a line's queue are not counted. */
const MAX_WAITING = 2000;

/** How many messages the lines have sent since `since`, and have waiting, by line. */
export async function lineUse(
  db: TenantDb,
  lineIds: readonly string[],
  since: Date,
): Promise<Map<string, number>> {
  const rows = await db.any(sql.type(UsedRow)`
    select u.line_id, (
      select count(*) from attempts a
      where a.workspace_id = ${db.workspaceId} and a.line_id = u.line_id and a.kind = 'primary'
        and (a.outcome is null or a.outcome in ('accepted', 'unknown')) and a.started_at >= ${sql.timestamp(since)}
    ) + (
      select count(*) from (
        select from messages m
        where m.workspace_id = ${db.workspaceId} and m.line_id = u.line_id and m.status in ('pending', 'scheduled')
          and not m.held and not m.force_fallback
        limit ${MAX_WAITING}
      ) waiting
    ) used
    from unnest(${sql.array([...lineIds], 'text')}) as u (line_id)`);
  return new Map(rows.map(({ lineId, used }) => [lineId, used]));
}

const AcquaintanceRow = z.object({ address: z.string(), lineId: z.string(), isKnown: z.boolean() });

/** The line of a pool that each contact has: the one assigned to the contact, else the one that last began to write to it. */
export async function poolAcquaintances(
  db: TenantDb,
  lineIds: readonly string[],
  addresses: readonly string[],
): Promise<Map<string, { lineId: string; isKnown: boolean }>> {
  if (addresses.length === 0) return new Map();
  const lines = sql.array([...lineIds], 'text');
  const rows = await db.any(sql.type(AcquaintanceRow)`
    select a.address, found.line_id, found.is_known
    from unnest(${sql.array([...addresses], 'text')}) as a (address)
    cross join lateral (
      select k.line_id, k.is_known from (
        select c.line_id, true is_assigned, null::timestamptz since, exists (
          select from line_contacts lc
          where lc.workspace_id = ${db.workspaceId} and lc.line_id = c.line_id and lc.address = c.address) is_known
        from conversations c
        where c.workspace_id = ${db.workspaceId} and c.address = a.address and c.line_id = any(${lines})
        union all
        select lc.line_id, false, lc.since, true from unnest(${lines}) as l (id)
        join line_contacts lc on lc.workspace_id = ${db.workspaceId} and lc.line_id = l.id and lc.address = a.address
      ) k
      order by k.is_assigned desc, k.since desc, k.line_id limit 1
    ) found`);
  return new Map(rows.map(({ address, lineId, isKnown }) => [address, { lineId, isKnown }]));
}

export const presentPool = (row: PoolRow): Pool => ({
  _id: row.id,
  workspaceId: row.workspaceId,
  name: row.name,
  lines: row.lines,
  strategy: row.strategy,
  sticky: row.sticky,
  failover: row.failover,
  failoverAfterMinutes: row.failoverAfterMinutes,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
