import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { readMigrationConfig } from '#domain/config.ts';
import type { DatabaseUrls } from './pool.ts';

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

/**
 * Brings a database to the newest schema: numbered `.sql` files, forward only, each in one transaction with its
 * record. A file whose first line is `-- no transaction` runs outside one (for `create index concurrently`).
 * Runs on a plain client: slonik refuses text of several statements, after having executed it.
 * @param ownerUrl logs in as the owner of the schema, which may create roles unless they are there already.
 * @param logins URLs of the processes' logins: each gets the password of its URL, unless it can log in already.
 * @returns the names of the migrations applied now.
 * @throws when a file that was applied has been changed since.
 */
export async function migrate(ownerUrl: string, logins: DatabaseUrls): Promise<string[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
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
        await apply(client, migration);
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

async function apply(client: pg.Client, { name, text, checksum }: Migration): Promise<void> {
  const inTransaction = !text.startsWith('-- no transaction');
  try {
    if (inTransaction) await client.query('begin');
    await client.query(text);
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum]);
    if (inTransaction) await client.query('commit');
  } catch (error) {
    if (inTransaction) await client.query('rollback');
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
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
