import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { readMigrationConfig } from '#domain/config.ts';
import type { DatabaseUrls } from './pools.ts';

const FOLDER = new URL('./migrations/', import.meta.url);
/** Any constant: whoever holds this advisory lock is the one that migrates. */
const LOCK = 7_463_001;

interface Migration {
  name: string;
  text: string;
  checksum: string;
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, FOLDER), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

export interface MigrateOptions {
  /** Told, in whole sentences, what it waits for. Default: standard output. */
  log?: (line: string) => void;
  /** How long a migration tries to lock a table that others use, before it fails. Default: 5 minutes. */
  patienceMs?: number;
}

/**
 * Brings a database to the newest schema: numbered `.sql` files, forward only, each in one transaction with its
 * record. A file whose first line is `-- no transaction` runs outside one, for one `create index concurrently`.
 * Several may run at once: one migrates, the others wait for it.
 * Runs on a plain client: slonik refuses text of several statements, after having executed it.
 * @param ownerUrl logs in as the owner of the schema, which may create roles unless they are there already.
 * @param logins URLs of the processes' logins: each gets the password of its URL, unless it can log in already.
 * @returns the names of the migrations applied now.
 * @throws when a file that was applied has been changed since, and when a migration fails.
 */
export async function migrate(
  ownerUrl: string,
  logins: DatabaseUrls,
  options: MigrateOptions = {},
): Promise<string[]> {
  const { log = (line) => void process.stdout.write(`${line}\n`), patienceMs = 300_000 } = options;
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await takeLock(client, log);
    // Opens the owner's policies (0240): row-level security holds for the owner too.
    await client.query(`set app.migrating = 'on'`);
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    );
    const { rows } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from migrations',
    );
    const applied = new Map(rows.map((row) => [row.name, row.checksum]));
    const done: string[] = [];
    for (const migration of await readMigrations()) {
      const known = applied.get(migration.name);
      if (known !== undefined && known !== migration.checksum) {
        throw new Error(
          `${migration.name} was changed after it had been applied; write a new migration instead`,
        );
      }
      if (known === undefined) {
        await apply(client, migration, { log, patienceMs });
        done.push(migration.name);
      }
    }
    await client.query('grant select on migrations to linepace_system');
    for (const url of [logins.tenantUrl, logins.systemUrl]) await enableLogin(client, url);
    return done;
  } finally {
    await client.end();
  }
}

const LOOK_AGAIN_MS = 500;
const SAY_AGAIN_MS = 30_000;

/**
 * Waits without a transaction. A session that blocks in `pg_advisory_lock` holds a snapshot, which the one that migrates
 * would wait for in `create index concurrently`: a deadlock.
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

async function apply(
  client: pg.Client,
  migration: Migration,
  options: Required<MigrateOptions>,
): Promise<void> {
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

/** An index of the same name is what an attempt left that failed or was killed: invalid, or not on record. */
async function buildConcurrently(client: pg.Client, migration: Migration): Promise<void> {
  for (const [, index] of migration.text.matchAll(CONCURRENT_INDEX))
    await client.query(`drop index concurrently if exists ${index}`);
  await client.query(migration.text);
  await record(client, migration);
}

/** Everybody who comes after a statement that waits for a table waits behind it: so long, and not longer, at a time. */
const LOCK_TIMEOUT_MS = 2000;
const LOCK_NOT_AVAILABLE = '55P03';

async function applyInTransaction(
  client: pg.Client,
  migration: Migration,
  { log, patienceMs }: Required<MigrateOptions>,
): Promise<void> {
  const end = Date.now() + patienceMs;
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
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE || Date.now() > end) throw error;
    }
    log(`Migration ${migration.name} waits for a table that a long transaction uses; trying again.`);
    await pause(LOCK_TIMEOUT_MS);
  }
}

/** Gives a role the password that its URL names. */
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

/** The newest migration this build knows: `/readyz` compares it with the database's. */
export async function newestMigration(): Promise<string> {
  return (await readMigrations()).at(-1)?.name ?? '';
}

if (import.meta.main) {
  const { ownerUrl, ...logins } = readMigrationConfig(process.env);
  const done = await migrate(ownerUrl, logins);
  process.stdout.write(done.length === 0 ? 'The database is up to date.\n' : `Applied ${done.join(', ')}.\n`);
}
