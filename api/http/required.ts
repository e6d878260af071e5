import type { Client } from '@temporalio/client';
import { checkKeys, type ProcessKeys } from '#db/connection/key-check.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { newestMigration } from '#db/migrate.ts';
import { hasMigration, ping } from '#db/queries/operations/readiness.ts';
import { type Check, checkTemporal } from '#providers/readiness.ts';

/** The content of the files does not change while the process runs. */
const newest = newestMigration();
newest.catch(() => {});

/** The checks of what every request needs. */
export function requiredChecks({
  pools,
  temporal,
  secrets,
  signer,
}: { pools: Pools; temporal: Client } & ProcessKeys): Record<string, Check> {
  const db = systemDb(pools);
  return {
    postgresql: () => ping(db),
    migrations: async () => {
      if (!(await hasMigration(db, await newest))) throw new Error('the schema lacks a migration');
    },
    temporal: () => checkTemporal(temporal.connection),
    keys: () => checkKeys(db, { secrets, signer }),
  };
}
