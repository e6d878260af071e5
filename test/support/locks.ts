import { sql } from 'slonik';
import { inject } from 'vitest';
import { z } from 'zod';
import { systemDb, type SystemTransaction, withSystem } from '#db/connection/transactions.ts';
import { eventually, type TestApp } from './app.ts';

/** A transaction that stays open until `release` is called. */
export interface OpenTransaction {
  release(): Promise<void>;
}

/** Runs work in a transaction, which stays open. @param begin begins it. */
export async function stayOpen<Db>(
  begin: (work: (db: Db) => Promise<void>) => Promise<void>,
  work: (db: Db) => Promise<unknown>,
): Promise<OpenTransaction> {
  const worked = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const done = begin(async (db) => {
    await work(db);
    worked.resolve();
    await released;
  });
  await Promise.race([worked.promise, done]);
  return {
    async release() {
      release();
      await done;
    },
  };
}

/** Locks rows of a workspace until `release` is called. */
export const lock = (app: TestApp, table: string, id: string, column = 'id'): Promise<OpenTransaction> =>
  stayOpen<SystemTransaction>(
    (work) => withSystem(app.pools, work),
    async (db) => {
      const rows = sql.fragment`${sql.identifier([table])} where ${sql.identifier([column])} = ${id}`;
      // A cluster locks rows of one workspace only.
      const workspaceId = await db.oneFirst(
        sql.type(z.object({ workspaceId: z.string() }))`select workspace_id from ${rows} limit 1`,
      );
      await db.query(
        sql.type(z.unknown())`select 1 from ${rows} and workspace_id = ${workspaceId} for update`,
      );
    },
  );

/** Resolves once at least `count` statements wait for a lock. @param forMs and have for so long; clusters do not say it. */
export const waitingForLocks = (app: TestApp, count: number, forMs = 0): Promise<unknown> =>
  eventually(async () => {
    const waiting = await app.pools.system.oneFirst(sql.type(z.object({ count: z.int() }))`
      select count(distinct pid)::int count from ${
        inject('clusterNodes').length > 0
          ? sql.fragment`(select waiting_gpid pid from citus_lock_waits) waiting`
          : sql.fragment`pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()
              and coalesce(waitstart, clock_timestamp()) <= clock_timestamp() - make_interval(secs => ${forMs / 1000})`
      }`);
    return waiting >= count;
  });

/**
 * Starts a second request while the first waits for the locks of an open transaction, and ends that when the second waits, too, or
 * has ended.
 */
export async function race<A, B>(
  app: TestApp,
  held: OpenTransaction,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  const one = first();
  await waitingForLocks(app, 1);
  const two = second();
  await Promise.race([two, waitingForLocks(app, 2)]);
  await held.release();
  return Promise.all([one, two]);
}

/** How many deadlocks PostgreSQL has detected in the test's database. */
export const deadlockCount = (app: TestApp): Promise<number> =>
  systemDb(app.pools).oneFirst(sql.type(z.object({ deadlocks: z.int() }))`
    select deadlocks from pg_stat_database where datname = current_database()`);
