import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { earliest } from '#domain/base/earliest.ts';
import { CARRYING_CHANNELS } from '#domain/base/channel.ts';
import { failsOverAt, movesFrom } from '#domain/lines/pool.ts';
import { findPool, poolsThatFailOver, type StoppedLinePool } from '#db/queries/lines/line-pools.ts';
import { type LineRow, usableLines } from '#db/queries/lines/lines.ts';
import { LineIdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { lineHandoverId, linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { CHUNK, reassignMessages, lockToMove, unsentOf } from './line-reassignment.ts';

/** How soon to retry messages that no other line of their pool can take. */
const RETRY_MS = 60_000;

const QueuePosition = z.object({ isNew: z.boolean(), lane: z.string(), at: z.string(), arrival: z.int() });
const Waiting = QueuePosition.extend({
  id: z.string(),
  address: z.string(),
  campaignId: z.string().nullable(),
  leadId: z.string().nullable(),
});
type Waiting = z.infer<typeof Waiting>;

/** The progress of moving a stopped line's messages to other lines. */
export interface FailoverProgress {
  /** The pool whose messages are being moved, and the last of these messages; null: all pools are done. */
  poolId: string;
  after: z.infer<typeof QueuePosition> | null;
  /** Messages were left behind, because no line of their pool is working. */
  isStuck: boolean;
}

/** The data of a stopped line that its failover needs. */
export type StoppedLine = Pick<LineRow, 'id'> & {
  [field in 'stoppedAt' | 'stopReason']: NonNullable<LineRow[field]>;
};

export const hasStopped = <L extends LineRow>(line: L): line is L & StoppedLine =>
  line.stoppedAt !== null && line.stopReason !== null;

/**
 * Moves the next waiting messages of a stopped line to working lines of their pools, if the pools' failover allows it and
 * its delay has passed. Messages keep their scheduled times, so they come before later ones there.
 * @param progress null: from the beginning.
 * @returns the progress; at the end with `nextAt`, the time to begin again; null: not until something changes.
 */
export async function failOverChunk(
  db: TenantDb,
  line: StoppedLine,
  progress: FailoverProgress | null,
  now: Date,
): Promise<FailoverProgress | { nextAt: Date | null }> {
  const pools = await poolsThatFailOver(db, line.id);
  const isDue = (pool: StoppedLinePool): boolean => failsOverAt(pool, line.stoppedAt) <= now;
  const isLeft = ({ id }: StoppedLinePool): boolean =>
    progress === null || id > progress.poolId || (id === progress.poolId && progress.after !== null);
  const pool = pools.find((due) => isDue(due) && isLeft(due));
  if (!pool) {
    const later = pools.filter((due) => !isDue(due)).map((due) => failsOverAt(due, line.stoppedAt));
    const retryAt = progress?.isStuck ? new Date(now.getTime() + RETRY_MS) : null;
    return { nextAt: [...later, retryAt].reduce<Date | null>(earliest, null) };
  }
  const after = progress?.poolId === pool.id ? progress.after : null;
  const chunk = await nextInPool(db, line, pool, after);
  const isStuck = !(await move(db, line, pool, chunk)) || (progress?.isStuck ?? false);
  return { poolId: pool.id, after: (chunk.length === CHUNK && chunk.at(-1)) || null, isStuck };
}

/** Messages in the line's queue, in the order of its index, so that each chunk reads only its own. */
async function nextInPool(
  db: TenantDb,
  line: StoppedLine,
  pool: StoppedLinePool,
  after: z.infer<typeof QueuePosition> | null,
): Promise<readonly Waiting[]> {
  const further = after
    ? sql.fragment`and (is_new, lane, scheduled_at, arrival)
        > (${after.isNew}, ${after.lane}::uuid, ${after.at}::timestamptz, ${after.arrival})`
    : sql.fragment``;
  const ofKind =
    movesFrom(pool.failover, line.stopReason) === 'all' ? sql.fragment`` : sql.fragment`and is_new`;
  return db.any(sql.type(Waiting)`
    select id, address, campaign_id, lead_id, is_new, lane::text, scheduled_at::text "at", arrival from messages
    where workspace_id = ${db.workspaceId} and line_id = ${line.id} and status in ('pending', 'scheduled') and not held
      and not force_fallback and pool_id = ${pool.id} and not line_pinned ${ofKind} ${further}
    order by is_new, lane, scheduled_at, arrival limit ${CHUNK}`);
}

/** @returns false if no other line could take some of the messages. */
async function move(
  db: TenantDb,
  line: StoppedLine,
  pool: StoppedLinePool,
  chunk: readonly Waiting[],
): Promise<boolean> {
  if (chunk.length === 0) return true;
  const channels = await workingChannels(db, pool.id);
  const later = await laterSteps(db, line.id, chunk);
  const messages = await lockToMove(db, toMove(db, line, pool), [...chunk, ...later], []);
  const movable = messages.filter(({ channel }) =>
    CARRYING_CHANNELS[channel].some((carrying) => channels.has(carrying)),
  );
  await reassignMessages(db, movable, { reason: line.stopReason, rule: `failover:${pool.failover}` });
  return movable.length === messages.length;
}

/** The channels of the lines of a pool that have not stopped. */
async function workingChannels(db: TenantDb, poolId: string): Promise<Set<string>> {
  const pool = await findPool(db, poolId);
  const lines = await usableLines(db);
  return new Set(
    lines
      .filter(({ id, stoppedAt }) => stoppedAt === null && pool?.lines.some(({ lineId }) => lineId === id))
      .map(({ channel }) => channel),
  );
}

const toMove = (db: TenantDb, line: StoppedLine, pool: StoppedLinePool): FragmentSqlToken => {
  const ofPool = sql.fragment`${unsentOf(db, line.id)} and pool_id = ${pool.id} and not line_pinned`;
  if (movesFrom(pool.failover, line.stopReason) === 'all') return ofPool;
  // Determined as by the pacing rules, because the column `is_new` may be out of date.
  return sql.fragment`${ofPool} and coalesce(answers_until <= ${sql.timestamp(currentTime())}, true) and not exists (
    select from line_contacts lc
    where lc.workspace_id = ${db.workspaceId} and lc.line_id = messages.line_id and lc.address = messages.address)`;
};

const Step = z.object({ id: z.string(), address: z.string() });

/** Later steps that wait for the messages of a chunk, which they follow to the new line. */
async function laterSteps(
  db: TenantDb,
  lineId: string,
  chunk: readonly Waiting[],
): Promise<readonly z.infer<typeof Step>[]> {
  const sequences = chunk.flatMap(({ campaignId, leadId }) =>
    campaignId === null || leadId === null ? [] : [[campaignId, leadId]],
  );
  if (sequences.length === 0) return [];
  return db.any(sql.type(Step)`
    select m.id, m.address from ${sql.unnest(sequences, ['text', 'text'])} as s (campaign_id, lead_id)
    join messages m on m.workspace_id = ${db.workspaceId} and m.campaign_id = s.campaign_id and m.lead_id = s.lead_id
    where m.line_id = ${lineId} and m.held and m.status in ('pending', 'scheduled')`);
}

/**
 * Wakes the workflow that moves a stopped line's messages, at the time at which the first of its pools allows it.
 * @returns whether a pool allows it: then messages that join the queue must be examined, although the line holds them.
 */
export async function failOverLater(db: TenantDb, line: StoppedLine, now: Date): Promise<boolean> {
  const pools = await poolsThatFailOver(db, line.id);
  if (pools.length === 0) return false;
  const movesAll = pools.some(({ failover }) => movesFrom(failover, line.stopReason) === 'all');
  const [first, ...others] = pools.map((pool) => failsOverAt(pool, line.stoppedAt));
  const at = others.reduce(earliest, first ?? now);
  if (await hasPooled(db, line.id, movesAll))
    wake(db, lineHandoverId(line.id, db.workspaceId), at > now ? at : now, 'messagesDue');
  return true;
}

async function hasPooled(db: TenantDb, lineId: string, known: boolean): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select from messages where workspace_id = ${db.workspaceId} and line_id = ${lineId}
      and status in ('pending', 'scheduled') and not held and not force_fallback and pool_id is not null
      ${known ? sql.fragment`` : sql.fragment`and is_new`}`);
}

/** Lets the workflows of the stopped lines of a pool decide again, after its lines or rules have changed. */
export async function reviewFailover(db: TenantDb, poolId: string, now: Date): Promise<void> {
  const stopped = await db.anyFirst(sql.type(LineIdRow)`
    select l.id line_id from pool_lines pl join lines l on l.workspace_id = pl.workspace_id and l.id = pl.line_id
    where pl.workspace_id = ${db.workspaceId} and pl.pool_id = ${poolId} and l.stopped_at is not null`);
  for (const lineId of stopped) {
    wake(db, lineHandoverId(lineId, db.workspaceId), now, 'messagesDue');
    wake(db, linePacerId(lineId), now, 'lineChanged');
  }
}
