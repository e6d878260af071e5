import { sql } from 'slonik';
import { z } from 'zod';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import type { OwnApp } from '#test/support/app.ts';

const Count = z.object({ count: z.int() });

/** @returns how many entries of the indexes of a table and its partitions `work` reads. */
export const entriesRead = (
  { pools }: OwnApp,
  table: string,
  workspaceId: string,
  work: (db: TenantDb) => Promise<unknown>,
): Promise<number> =>
  withTenant(pools, workspaceId, async (db) => {
    // Of the connection, which may have more to report than this transaction.
    const entries = () =>
      db.oneFirst(sql.type(Count)`
        select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int count from pg_index
        where indrelid = ${table}::regclass or indrelid in (select relid from pg_partition_tree(${table}::regclass))`);
    const before = await entries();
    await work(db);
    return (await entries()) - before;
  });
