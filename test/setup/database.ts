import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { inject } from 'vitest';
import { connected } from '#db/connection/connected.ts';
import type { DatabaseUrls } from '#db/connection/pools.ts';
import { SETTINGS } from '#db/distribution/distribute.ts';
import { databaseAt } from './cluster.ts';

/** The migrated database that all test databases are copied from. Created once per run. */
export const TEMPLATE_DATABASE = 'linepace_template';

/** A table in the server's own database: the number of deadlocks in each dropped test database. */
export const DEADLOCKS = 'test_deadlocks';

export interface TestDatabase extends DatabaseUrls {
  /** Superuser URL of the database. */
  ownerUrl: string;
  /** Like `systemUrl`, past a pooler. */
  directUrl: string;
  /** Drops the database and closes its connections. */
  drop(): Promise<unknown>;
}

/**
 * Creates an empty database with the newest schema, in about 200 ms.
 * @param template the database to copy; `template1` has no schema.
 */
export async function createTestDatabase(template = TEMPLATE_DATABASE): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const nodes = inject('clusterNodes');
  const servers = nodes.length > 0 ? nodes : [inject('databaseUrl')];
  for (const server of servers)
    await connected(server, async (client) => {
      // The other strategy writes each page to the log, which takes five times as long.
      await client.query(`create database ${name} template ${template} strategy = file_copy`);
      if (nodes.length === 0) return;
      for (const [setting, value] of Object.entries(SETTINGS))
        await client.query(`alter database ${name} set ${setting} = '${value}'`);
    });
  const named = (url: string): string => databaseAt(url, name);
  const { tenantUrl, systemUrl } = inject('databaseLogins');
  const poolerPort = inject('poolerPort');
  const pooled = (url: string): string =>
    poolerPort === null ? named(url) : overTcp(named(url), poolerPort);
  return {
    ownerUrl: named(inject('databaseUrl')),
    tenantUrl: pooled(tenantUrl),
    systemUrl: pooled(systemUrl),
    directUrl: named(systemUrl),
    async drop() {
      await administer(
        `insert into ${DEADLOCKS} select datname, deadlocks from pg_stat_database where datname = '${name}'`,
      );
      for (const server of servers)
        await connected(server, (client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
}

/** @param port of PostgreSQL, which also listens there, or of something in front of it. */
export const overTcp = (url: string, port: number): string =>
  Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href;

const administer = (statement: string): Promise<unknown> =>
  connected(inject('databaseUrl'), (client) => client.query(statement));

/** Tells the planner what some tables have, as autovacuum and housekeeping do. @param owner a superuser's connection. */
export async function analyze(owner: pg.Client, tables: string): Promise<void> {
  await owner.query(`analyze ${tables}`);
  await owner.query('select note_workspace_sizes()');
  // What they have read is in the statistics of access when this returns.
  await owner.query('select pg_stat_force_next_flush()');
}

/** Does the work while no other process of the run does it. */
export const alone = <T>(name: string, work: () => Promise<T>): Promise<T> =>
  connected(inject('databaseUrl'), async (client) => {
    // Held until the connection ends.
    await client.query('select pg_advisory_lock(hashtext($1))', [name]);
    return work();
  });
