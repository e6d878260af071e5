import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import type { DatabaseUrls } from '#db/pools.ts';

/** The migrated database that all test databases are copies of; made once for each run. */
export const TEMPLATE_DATABASE = 'linepace_template';

/** In the server's own database: how many deadlocks each test database had, noted when it is dropped. */
export const DEADLOCKS = 'test_deadlocks';

export interface TestDatabase extends DatabaseUrls {
  /** Superuser URL of the database. */
  ownerUrl: string;
  /** Removes it, and ends the connections that are still open. */
  drop(): Promise<unknown>;
}

/**
 * A fresh database with the newest schema and no rows, shared with no other test. Takes about 50 ms.
 * @param template the database it is a copy of; `template1` has no schema at all.
 */
export async function createTestDatabase(template = TEMPLATE_DATABASE): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name} template ${template}`);
  const named = (url: string): string => Object.assign(new URL(url), { pathname: name }).href;
  const { tenantUrl, systemUrl } = inject('databaseLogins');
  return {
    ownerUrl: named(inject('databaseUrl')),
    tenantUrl: named(tenantUrl),
    systemUrl: named(systemUrl),
    async drop() {
      await administer(
        `insert into ${DEADLOCKS} select datname, deadlocks from pg_stat_database where datname = '${name}'`,
      );
      await administer(`drop database if exists ${name} with (force)`);
    },
  };
}

const administer = (statement: string): Promise<unknown> =>
  connected(inject('databaseUrl'), (client) => client.query(statement));

/** Connects as `url` says, for the length of `work`. */
export async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
