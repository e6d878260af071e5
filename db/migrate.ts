import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

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
 * @returns the names of the migrations applied now.
 * @throws when a file that was applied has been changed since.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
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

/** The newest migration this build knows: `/readyz` compares it with the database's. */
export async function newestMigration(): Promise<string> {
  return (await readMigrations()).at(-1)?.name ?? '';
}

if (import.meta.main) {
  const url = process.env['DATABASE_URL'];
  if (!url) throw new Error('DATABASE_URL is not set');
  const done = await migrate(url);
  process.stdout.write(done.length === 0 ? 'The database is up to date.\n' : `Applied ${done.join(', ')}.\n`);
}
