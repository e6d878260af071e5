import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { readMigrationConfig } from '#domain/base/config.ts';
import { connected } from './connection/connected.ts';
import type { DatabaseUrls } from './connection/pools.ts';

const FOLDER = new URL('./migrations/', import.meta.url);
/** The advisory lock of the process that migrates; an arbitrary number. */
const LOCK = 7_463_001;

interface Migration {
  name: string;
  text: string;
  checksum: string;
}

async function readMigrations(folder = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

export interface MigrateOptions {
  /** Prints what the migration waits for. Default: standard output. */
  log?: (line: string) => void;
  /** How long to retry locking a table that others use. Default: 5 minutes. */
  lockTimeoutMs?: number;
  /** The URL of a folder of migrations, which ends with a slash. Default: those of this build. */
  folder?: URL;
}

/**
 * Migrates a database to the latest schema: numbered `.sql` files, forward only, each in one transaction with its record.
 * A file whose first line is `-- no transaction` runs outside one, for a single `create index concurrently`. Concurrent
 * calls wait for the first. Uses node-postgres, because slonik rejects files of several statements after executing them.
 * @param ownerUrl logs in as the owner of the schema, which may create roles unless they exist.
 * @param logins the URLs of the processes' logins. Each gets the password of its URL, unless it can already log in.
 * @returns the names of the migrations that were applied.
 * @throws if the database is older than version 1.0, an applied file was changed, or a migration fails.
 */
export async function migrate(
  ownerUrl: string,
  logins: DatabaseUrls,
  options: MigrateOptions = {},
): Promise<string[]> {
  const { log = (line) => void process.stdout.write(`${line}\n`), lockTimeoutMs = 300_000, folder } = options;
  return connected(ownerUrl, async (client) => {
    await takeLock(client, log);
    // Opens the owner's policies (`tenant_table`): row-level security holds for the owner too.
    await client.query(`set app.migrating = 'on'`);
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    );
    const { rows } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from migrations',
    );
    const applied = new Map(rows.map((row) => [row.name, row.checksum]));
    const done: string[] = [];
    const migrations = await readMigrations(folder);
    if (applied.size > 0 && !applied.has(migrations[0]?.name ?? '')) throw new Error(BEFORE_1_0);
    for (const migration of migrations) {
      const known = applied.get(migration.name);
      if (known !== undefined && known !== migration.checksum) {
        throw new Error(
          `${migration.name} was changed after it had been applied; write a new migration instead`,
        );
      }
      if (known === undefined) {
        await apply(client, migration, { log, lockTimeoutMs });
        done.push(migration.name);
      }
    }
    await client.query('grant select on migrations to linepace_system');
    for (const url of [logins.tenantUrl, logins.systemUrl]) await enableLogin(client, url);
    return done;
  });
}

/** Its migrations were replaced by those of 1.0, which create a schema and change none. */
const BEFORE_1_0 =
  'This database was created by a version before 1.0, which cannot be upgraded. Create a new database and name it in the ' +
  'database URLs. Where `npm start` created it, move its data folder (DATA_DIR, by default .data) away; it makes a new one.';

const LOOK_AGAIN_MS = 500;
const SAY_AGAIN_MS = 30_000;

/**
 * Polls outside of a transaction. A session that blocks in `pg_advisory_lock` holds a snapshot, for which `create index
 * concurrently` of the migrating process would wait: a deadlock.
 */
async function takeLock(client: pg.Client, log: (line: string) => void): Promise<void> {
  for (let waited = 0; ; waited += LOOK_AGAIN_MS) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) taken', [LOCK]);
    if (rows[0]?.taken) return;
    if (waited % SAY_AGAIN_MS === 0)
      log('Another process is migrating this database; waiting until it has finished.');
    await pause(LOOK_AGAIN_MS);
  }
}

type Waiting = Required<Pick<MigrateOptions, 'log' | 'lockTimeoutMs'>>;

async function apply(client: pg.Client, migration: Migration, options: Waiting): Promise<void> {
  try {
    if (migration.text.startsWith('-- no transaction')) await buildConcurrently(client, migration);
    else await applyInTransaction(client, migration, options);
  } catch (error) {
    throw new Error(
      `migration ${migration.name} failed: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

const record = (client: pg.Client, { name, checksum }: Migration) =>
  client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum]);

const CONCURRENT_INDEX = /create (?:unique )?index concurrently (?:if not exists )?(\w+)/gi;

/** Drops the index that an interrupted attempt left: invalid, or not recorded. */
async function buildConcurrently(client: pg.Client, migration: Migration): Promise<void> {
  for (const [, index] of migration.text.matchAll(CONCURRENT_INDEX))
    await client.query(`drop index concurrently if exists ${index}`);
  await client.query(migration.text);
  await record(client, migration);
}

/** Other transactions queue behind a statement that waits for a table, so each try is short. */
const LOCK_TIMEOUT_MS = 2000;
/** No lock within that time, or a deadlock with a transaction that has one of the tables already. */
const LOCK_CODES = new Set<unknown>(['55P03', '40P01']);

async function applyInTransaction(
  client: pg.Client,
  migration: Migration,
  { log, lockTimeoutMs }: Waiting,
): Promise<void> {
  const end = Date.now() + lockTimeoutMs;
  for (;;) {
    try {
      await client.query('begin');
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await client.query(migration.text);
      await record(client, migration);
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback');
      if (!LOCK_CODES.has((error as { code?: unknown }).code) || Date.now() > end) throw error;
    }
    log(`Migration ${migration.name} waits for a table that a long transaction uses; trying again.`);
    await pause(LOCK_TIMEOUT_MS);
  }
}

/** Sets the password of a role to the one in its URL. */
async function enableLogin(owner: pg.Client, url: string): Promise<void> {
  if (await canLogIn(url)) return;
  const { username, password } = new URL(url);
  await owner.query(
    `alter role ${pg.escapeIdentifier(decodeURIComponent(username))} login password ${pg.escapeLiteral(decodeURIComponent(password))}`,
  );
}

async function canLogIn(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}

/** The newest migration of this build. `/readyz` looks for it in the database. */
export async function newestMigration(): Promise<string> {
  return (await readMigrations()).at(-1)?.name ?? '';
}

if (import.meta.main) {
  const { ownerUrl, ...logins } = readMigrationConfig(process.env);
  const { values } = parseArgs({
    options: {
      distribute: { type: 'boolean', default: false },
      // A workspace, and HOST:PORT of a node.
      move: { type: 'string' },
      to: { type: 'string' },
    },
  });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const done = await migrate(ownerUrl, logins);
  say(done.length === 0 ? 'The database is up to date.' : `Applied ${done.join(', ')}.`);
  if (values.distribute) {
    // oxlint-disable-next-line no-restricted-imports -- the only way into the folder, for commands that only a cluster needs
    const { distribute } = await import('./distribution/distribute.ts');
    const tables = await distribute(ownerUrl);
    say(tables.length === 0 ? 'All tables are distributed.' : `Distributed ${tables.join(', ')}.`);
  }
  if (values.move !== undefined) {
    if (values.to === undefined)
      throw new Error('--move WORKSPACE needs --to HOST:PORT, which names a node.');
    // oxlint-disable-next-line no-restricted-imports -- the only way into the folder, for commands that only a cluster needs
    const { moveWorkspace } = await import('./distribution/move-workspace.ts');
    await moveWorkspace(ownerUrl, values.move, values.to);
    say(`${values.move} is at ${values.to}.`);
  }
}
