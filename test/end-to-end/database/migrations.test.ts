import { hash } from 'node:crypto';
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

describe('drips that processes of the release before have accepted', () => {
  const wide = (text: string) => hash('sha256', text, 'base64url');
  const narrow = (text: string) => Buffer.from(hash('sha256', text, 'buffer').subarray(0, 16));
  const acknowledgement = {
    status: 'queued',
    correlationId: 'c',
    scheduledDate: '2026-03-02T16:00:30.125Z',
    jitterMs: 125,
  };
  /** As those processes claim a fingerprint. @returns whether it was free. */
  const claimWide = async (text: string) =>
    (
      await client.query(
        `insert into drip_fingerprints (workspace_id, fingerprint, acknowledgement) values ('w', $1, $2)
         on conflict (workspace_id, fingerprint) do update set acknowledgement = excluded.acknowledgement, created_at = now()
           where drip_fingerprints.created_at < now() - interval '60 minutes'
         returning fingerprint`,
        [wide(text), acknowledgement],
      )
    ).rowCount === 1;
  const buffer = async (text: string) => {
    const drip = { n: 0, workspace_id: 'w', id: 'a'.repeat(24), fingerprint: narrow(text).toString('hex') };
    const batch = JSON.stringify([
      { ...drip, scheduled_at: new Date(), jitter_ms: 7, draft: { body: text } },
    ]);
    const { rows } = await client.query(
      `select duplicates from buffer_drips($1, 'drip-drainer:', now(), 'dripsBuffered', null)`,
      [batch],
    );
    return rows[0].duplicates as unknown;
  };
  const claimed = [{ n: 0, scheduledMs: Date.parse(acknowledgement.scheduledDate), jitterMs: 125 }];

  beforeEach(async () => {
    await open();
    // As the owner, whom foreign keys do not concern here.
    await client.query(
      `set app.migrating = 'on'; alter table workflow_wakes drop constraint workflow_wakes_workspace_id_fkey`,
    );
  });

  it('stay in the buffer and are duplicates for another hour', async () => {
    await client.query(`
      alter table drip_buffer drop constraint drip_buffer_pkey, add constraint drip_buffer_pkey primary key (workspace_id, id);
      create index drip_buffer_order on drip_buffer (workspace_id, arrival);
      insert into drip_buffer (workspace_id, id, draft) values ('w', '${'b'.repeat(24)}', '{"body": "Earlier"}');
      alter table drip_fingerprints disable trigger claim_wide_drip;
      delete from migrations where name in ('0551_drip_claims_of_before.sql', '0552_one_index_of_drips.sql')`);
    expect(await claimWide('Earlier')).toBe(true);
    await client.query('alter table drip_fingerprints enable trigger claim_wide_drip');
    expect(await migrated()).toHaveLength(2);

    expect([await buffer('Earlier'), await buffer('Later')]).toEqual([claimed, null]);
    const { rows } = await client.query('select draft from drip_buffer order by arrival');
    expect(rows.map(({ draft }) => draft)).toEqual([{ body: 'Earlier' }, { body: 'Later' }]);
  });

  it('are duplicates of those that this release accepts meanwhile, and the other way round', async () => {
    expect([await claimWide('Theirs'), await claimWide('Theirs'), await buffer('Theirs')]).toEqual([
      true,
      false,
      claimed,
    ]);
    expect([await buffer('Ours'), await claimWide('Ours')]).toEqual([null, false]);
  });

  it('are accepted again after an hour', async () => {
    await claimWide('Old');
    await buffer('Older');
    await client.query(`
      update drip_fingerprints set created_at = now() - interval '61 minutes';
      update drip_claims set created_at = now() - interval '61 minutes'`);
    expect([await claimWide('Old'), await buffer('Older'), await buffer('Old')]).toEqual([
      true,
      null,
      claimed,
    ]);
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
