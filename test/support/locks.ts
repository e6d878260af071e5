import { sql } from 'slonik';
import { inject } from 'vitest';
import { z } from 'zod';
import { systemDb, withSystem } from '#db/transactions.ts';
import { eventually, type TestApp } from './app.ts';

/** Locks rows of a workspace until `release` is called. */
export async function lock(
  app: TestApp,
  table: string,
  id: string,
  column = 'id',
): Promise<{ release(): Promise<void> }> {
  const locked = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const done = withSystem(app.pools, async (db) => {
    const rows = sql.fragment`${sql.identifier([table])} where ${sql.identifier([column])} = ${id}`;
    // A cluster locks rows of one workspace only.
    const workspaceId = await db.oneFirst(
      sql.type(z.object({ workspaceId: z.string() }))`select workspace_id from ${rows} limit 1`,
    );
    await db.query(sql.type(z.unknown())`select 1 from ${rows} and workspace_id = ${workspaceId} for update`);
    locked.resolve();
    await released;
  });
  await Promise.race([locked.promise, done]);
  return {
    async release() {
      release();
      await done;
    },
  };
}

/** Resolves once at least `count` statements wait for a lock. */
export const waitingForLocks = (app: TestApp, count: number): Promise<unknown> =>
  eventually(async () => {
    const waiting = await app.pools.system.oneFirst(sql.type(z.object({ count: z.int() }))`
      select count(distinct pid)::int count from ${
        inject('clusterNodes').length > 0
          ? sql.fragment`(select waiting_gpid pid from citus_lock_waits) waiting`
          : sql.fragment`pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`
      }`);
    return waiting >= count;
  });

/** How many deadlocks PostgreSQL has detected in the test's database. */
export const deadlockCount = (app: TestApp): Promise<number> =>
  systemDb(app.pools).oneFirst(sql.type(z.object({ deadlocks: z.int() }))`
    select deadlocks from pg_stat_database where datname = current_database()`);
