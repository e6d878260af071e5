import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, SystemTransaction } from '#db/transactions.ts';

/** A stream that was not recorded as alive for this long no longer counts. */
const ALIVE = sql.fragment`interval '30 seconds'`;

const CountRow = z.object({ count: z.int() });

/**
 * Records that a stream is open.
 * @param stream.holder the key or user whose streams are counted, in all processes.
 * @returns false if the holder has `most` streams already; nothing is recorded then.
 */
export async function openStream(
  db: SystemTransaction,
  { id, holder, most }: { id: string; holder: string; most: number },
): Promise<boolean> {
  await db.query(sql.type(NoRows)`select pg_advisory_xact_lock(hashtextextended(${`stream ${holder}`}, 0))`);
  const open = await db.oneFirst(sql.type(CountRow)`
    select count(*) from event_streams where holder = ${holder} and seen_at > now() - ${ALIVE}`);
  if (open >= most) return false;
  await db.query(sql.type(NoRows)`insert into event_streams (id, holder) values (${id}, ${holder})`);
  return true;
}

/** Records that streams are alive, and deletes those that crashed processes left. */
export async function keepStreams(
  db: SystemDb,
  streams: readonly { id: string; holder: string }[],
): Promise<void> {
  const rows = streams.map(({ id, holder }) => [id, holder]);
  await db.query(sql.type(NoRows)`
    with over as (delete from event_streams where seen_at < now() - interval '10 minutes')
    insert into event_streams (id, holder)
    select id, holder from ${sql.unnest(rows, ['text', 'text'])} as s (id, holder)
    on conflict (id) do update set seen_at = excluded.seen_at`);
}

export async function closeStreams(db: SystemDb, ids: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`delete from event_streams where id = any(${sql.array([...ids], 'text')})`);
}
