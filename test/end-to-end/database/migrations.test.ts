import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { migrate, type MigrateOptions, newestMigration } from '#db/migrate.ts';
import { connected, createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import { eventually, startTestApp } from '#test/support/app.ts';

let database: TestDatabase;
let client: pg.Client;
const lines: string[] = [];
const log = (line: string): void => void lines.push(line);
const migrated = (options: MigrateOptions = {}) => migrate(database.ownerUrl, database, { log, ...options });

async function open(template?: string): Promise<void> {
  database = await createTestDatabase(template);
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
}
beforeEach(() => {
  lines.length = 0;
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

const invalidIndexes = async () =>
  (await client.query('select indexrelid::regclass::text from pg_index where not indisvalid')).rows;

describe('simultaneous migrations', () => {
  it.each([1, 2, 3])(
    'apply each file once (run %i)',
    async () => {
      await open('template1');
      const [first, second] = await Promise.all([migrated(), migrated()]);
      expect([first, second].map(({ length }) => length).toSorted()[0]).toBe(0);
      expect([...first, ...second].at(-1)).toBe(await newestMigration());
      expect(await invalidIndexes()).toEqual([]);
      expect(lines[0]).toMatch('Another process is migrating this database');
      expect(await migrated()).toEqual([]);
    },
    120_000,
  );
});

describe('an interrupted migration', () => {
  it('is applied again and replaces its invalid index', async () => {
    await open();
    await client.query(
      `update pg_index set indisvalid = false where indexrelid = 'conversations_tagged'::regclass`,
    );
    await client.query(`delete from migrations where name = '0132_conversations_tagged.sql'`);
    expect(await migrated()).toEqual(['0132_conversations_tagged.sql']);
    expect(await invalidIndexes()).toEqual([]);
  });

  it('is applied again if only its record is missing', async () => {
    await open();
    await client.query(`delete from migrations where name = '0131_inbound_counted.sql'`);
    expect(await migrated()).toEqual(['0131_inbound_counted.sql']);
  });
});

describe('a migration whose table is in use', () => {
  const NAME = '0141_attachment_failure.sql';
  beforeEach(async () => {
    await open();
    await client.query('alter table attachments drop column failure');
    await client.query('delete from migrations where name = $1', [NAME]);
    await client.query('begin; select from attachments');
  });

  it('leaves the lock queue and retries until the table is free', async () => {
    // Ends the long transaction after the first failure.
    const end = (line: string) => {
      log(line);
      void client.query('commit');
    };
    expect(await migrated({ log: end })).toEqual([NAME]);
    expect(lines).toEqual([expect.stringMatching(`Migration ${NAME} waits for a table`)]);
  });

  it('retries after a deadlock', async () => {
    await client.query('commit; begin; lock migrations in exclusive mode');
    // The migration has the attachments by then, and waits in order to record itself.
    const isWaiting = () =>
      connected(database.ownerUrl, (owner) =>
        owner.query(`select from pg_locks where relation = 'migrations'::regclass and not granted`),
      );
    const [done] = await Promise.all([
      migrated(),
      eventually(async () => ((await isWaiting()).rowCount ?? 0) > 0).then(() =>
        client.query('select from attachments; commit'),
      ),
    ]);
    expect(done).toEqual([NAME]);
    // This deadlock does not fail the run.
    await eventually(async () => {
      const { rows } = await client.query<{ deadlocks: string }>(
        'select deadlocks from pg_stat_database where datname = current_database()',
      );
      return Number(rows[0]?.deadlocks) === 1;
    });
    await client.query('select pg_stat_reset()');
  });

  it('fails after its timeout without any change', async () => {
    await expect(migrated({ lockTimeoutMs: 0 })).rejects.toThrow(
      `migration ${NAME} failed: canceling statement due to lock timeout`,
    );
    await client.query('commit');
    expect(await migrated()).toEqual([NAME]);
  });
});

test('an API process is ready with a schema newer than its own, and not with one that lacks a migration', async () => {
  const app = await startTestApp({ worker: false });
  const ready = async () => (await fetch(`${app.url}/readyz`)).status;
  const change = (statement: string) => connected(app.ownerUrl, (owner) => owner.query(statement));
  expect(await ready()).toBe(200);
  await change("insert into migrations (name, checksum) values ('9999_of_the_next_release.sql', '')");
  expect(await ready()).toBe(200);
  await change(`delete from migrations where name = '${await newestMigration()}'`);
  // The answer is remembered for a second.
  await eventually(async () => (await ready()) === 503);
  await app.stop();
});
