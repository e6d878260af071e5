import { sql } from 'slonik';
import { z } from 'zod';
import type { Pools } from '#db/connection/pools.ts';
import { withSystem } from '#db/connection/transactions.ts';

/**
 * Makes times of a table's rows earlier. Runs on each shard of a cluster, which computes no times in a statement for all of them.
 * @param times columns.
 * @param by an interval of PostgreSQL.
 * @param where of the rows; default: all.
 * @returns the number of rows.
 */
export const age = (
  pools: Pools,
  table: string,
  times: readonly string[],
  by: string,
  where = 'true',
): Promise<number> => {
  const changes = times.map((time) => `${time} = ${time} - interval '${by}'`).join(', ');
  const command = `with aged as (update %1$s set ${changes} where ${where} returning 1) select count(*)::text from aged`;
  return withSystem(pools, async (db) => {
    const counts = await db.anyFirst(
      sql.type(z.object({ count: z.coerce.number() }))`select on_each_shard(${table}, ${command}) count`,
    );
    return counts.reduce((sum, count) => sum + count, 0);
  });
};
