import { sql } from 'slonik';
import { z } from 'zod';
import type { Pools } from '#db/pools.ts';
import { NoRows } from '#db/rows.ts';
import { cutSnapshot, formatSnapshot, parseSnapshot } from '#db/snapshots.ts';
import { withSystem } from '#db/transactions.ts';

/** The key of the advisory lock that a process holds while it publishes; any constant. */
const LOCK = 7_463_002;

/** The size of the batches of a backlog, in events. A batch consists of whole transactions, so it can be larger. */
const AT_ONCE = 5000;

/** The newest batch is always kept. A process that polls more rarely assumes that all workspaces have new events. */
const BATCHES_KEPT = sql.fragment`interval '10 minutes'`;

const LastRow = z.object({
  position: z.int(),
  snapshot: z.string(),
  current: z.string(),
  /** The last transaction of the batch; null: the batch takes all. */
  through: z.string().nullable(),
});

/**
 * Gives positions to the events committed since the last batch: those of transactions that have ended now and had not
 * ended then. So an event that is committed late, after others with higher ids, is neither missed nor waited for.
 * Batches are committed one after the other, so a reader that has read up to a position has read everything before it.
 *
 * Within a batch the order is that of `emission_number`: if a transaction waited for another one, its events come later.
 * @returns whether more is to be published.
 */
export async function publishEvents(pools: Pools): Promise<boolean> {
  return withSystem(pools, async (db) => {
    await db.query(sql.type(NoRows)`select pg_advisory_xact_lock(${LOCK})`);
    const { position, snapshot, current, through } = await db.one(sql.type(LastRow)`
      select b.position, b.snapshot::text, pg_current_snapshot()::text current, (
          select transaction_id::text from emitted_events
          where transaction_id >= pg_snapshot_xmax(b.snapshot)
            and transaction_id < pg_snapshot_xmax(pg_current_snapshot())
          order by transaction_id offset ${AT_ONCE - 1} limit 1
        ) through
      from event_batches b order by b.position desc limit 1`);
    const last = parseSnapshot(snapshot);
    const now = parseSnapshot(current);
    if (last.end > now.end) {
      // The database was restored on another server, where transactions have other ids.
      await db.query(sql.type(NoRows)`
        update event_batches set snapshot = ${current}::pg_snapshot where position = ${position}`);
      return true;
    }
    await db.query(sql.type(NoRows)`select from await_commits()`);
    const until = through === null ? now : cutSnapshot(now, BigInt(through) + 1n);
    const ended = sql.fragment`pg_visible_in_snapshot(transaction_id, ${formatSnapshot(until)}::pg_snapshot)`;
    const wereRunning = sql.array(last.running.map(String), 'text');
    await db.query(sql.type(NoRows)`
      with committed as (
        select workspace_id, id, number from emitted_events
        where transaction_id >= ${String(last.end)}::xid8 and transaction_id < ${String(until.end)}::xid8 and ${ended}
        union all
        select workspace_id, id, number from emitted_events
        where transaction_id = any(${wereRunning}::xid8[]) and ${ended}
      ), published as (
        insert into published_events (workspace_id, id, position)
        select workspace_id, id, ${position} + row_number() over (order by number, id) from committed
        on conflict (workspace_id, id) do nothing -- after a restore
        returning workspace_id, position
      ), trimmed as (
        delete from event_batches where published_at < now() - ${BATCHES_KEPT} and position < ${position}
      )
      insert into event_batches (position, snapshot, workspace_ids)
      select max(position), ${formatSnapshot(until)}::pg_snapshot, array_agg(distinct workspace_id)
      from published having count(*) > 0`);
    return through !== null;
  });
}
