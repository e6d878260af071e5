import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

/** The migrated database that all test databases are copies of; made once for each run. */
export const TEMPLATE_DATABASE = 'linepace_template';

export interface TestDatabase {
  /** Superuser URL of the database. */
  url: string;
  /** Removes it, and ends the connections that are still open. */
  drop(): Promise<void>;
}

/** A fresh database with the newest schema and no rows, shared with no other test. Takes about 50 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name} template ${TEMPLATE_DATABASE}`);
  return {
    url: Object.assign(new URL(inject('databaseUrl')), { pathname: name }).href,
    drop: () => administer(`drop database if exists ${name} with (force)`),
  };
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
