import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { publishAllEvents } from '#db/commands/events/publish-events.ts';
import { createPools } from '#db/connection/pools.ts';
import { firstId, newId } from '#domain/base/ids.ts';
import { migrate, type MigrateOptions, newestMigration } from '#db/migrate.ts';
import { connected } from '#db/connection/connected.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import { eventually, startTestApp } from '#test/support/app.ts';
import { problemsOf } from '#test/support/catalog.ts';

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

/** The migrations of this build, and those of the test. */
let folder: URL;
function copyMigrations(): void {
  const path = mkdtempSync(join(tmpdir(), 'linepace-migrations-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  cpSync(new URL('../../db/migrations/', import.meta.url), path, { recursive: true });
  folder = pathToFileURL(`${path}/`);
}
/** Opens a database with the newest schema, and adds migrations that come after. */
async function openWith(migrations: Record<string, string>): Promise<void> {
  copyMigrations();
  for (const [name, text] of Object.entries(migrations)) writeFileSync(new URL(name, folder), text);
  await open();
}
/** Opens a database with the schema before a migration of this build. */
async function openBefore(migration: string): Promise<void> {
  copyMigrations();
  for (const name of readdirSync(folder)) if (name >= migration) rmSync(new URL(name, folder));
  await open('template1');
  await migrated({ folder });
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

describe('a database of a version before 1.0', () => {
  it('is refused without any change', async () => {
    await open('template1');
    await client.query(`
      create table migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now());
      insert into migrations values ('0001_foundations.sql', ''), ('0020_inbound.sql', '')`);
    await expect(migrated()).rejects.toThrow('created by a version before 1.0');
    const { rows } = await client.query(
      `select count(*)::int tables from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    );
    expect(rows).toEqual([{ tables: 1 }]);
  });
});

describe('an applied migration', () => {
  it('may not be changed', async () => {
    await openWith({ '9000_ranks.sql': 'create table ranks (id text primary key)' });
    expect(await migrated({ folder })).toEqual(['9000_ranks.sql']);
    writeFileSync(new URL('9000_ranks.sql', folder), 'create table ranks (id int primary key)');
    await expect(migrated({ folder })).rejects.toThrow(
      '9000_ranks.sql was changed after it had been applied',
    );
  });
});

/** How a release adds what its processes need to rows that are there: columns first, then their values, then the index. */
describe('a migration of rows', () => {
  it('changes those of all workspaces, while row-level security holds for everyone else', async () => {
    await openWith({
      '9000_list_colors.sql': "alter table lead_lists add column color text not null default '';",
      '9001_list_colors_filled.sql':
        "update lead_lists set color = case when is_quick_sends then 'green' else 'gray' end;",
      '9002_lists_by_color.sql':
        '-- no transaction\ncreate index concurrently lead_lists_color on lead_lists (workspace_id, color);',
    });
    await client.query(`
      begin;
      set local app.migrating = 'on';
      insert into workspaces (id, name) values ('org_1', 'One'), ('org_2', 'Two');
      insert into lead_lists (workspace_id, id, name, is_quick_sends) values
        ('org_1', '${'1'.repeat(24)}', 'Quick sends', true), ('org_1', '${'2'.repeat(24)}', 'Others', false),
        ('org_2', '${'3'.repeat(24)}', 'Others', false);
      commit`);
    expect(await migrated({ folder })).toHaveLength(3);
    expect(await migrated({ folder })).toEqual([]);

    await connected(database.systemUrl, async (system) => {
      const { rows } = await system.query('select workspace_id, color from lead_lists order by id');
      expect(rows).toEqual([
        { workspace_id: 'org_1', color: 'green' },
        { workspace_id: 'org_1', color: 'gray' },
        { workspace_id: 'org_2', color: 'gray' },
      ]);
    });
    expect(await problemsOf(client)).toEqual([]);
    expect(await invalidIndexes()).toEqual([]);
  });

  it('leaves nothing behind when it fails', async () => {
    await openWith({
      '9000_list_colors.sql':
        "alter table lead_lists add column color text not null default ''; select 1 / 0;",
    });
    await expect(migrated({ folder })).rejects.toThrow(
      'migration 9000_list_colors.sql failed: division by zero',
    );
    await expect(client.query('select color from lead_lists')).rejects.toThrow('does not exist');
  });
});

describe('an interrupted migration', () => {
  const NAME = '9000_lists_by_name.sql';
  const INDEX =
    '-- no transaction\ncreate index concurrently lead_lists_name on lead_lists (workspace_id, name);';

  it('is applied again and replaces its invalid index', async () => {
    await openWith({ [NAME]: INDEX });
    await migrated({ folder });
    await client.query(
      `update pg_index set indisvalid = false where indexrelid = 'lead_lists_name'::regclass`,
    );
    await client.query('delete from migrations where name = $1', [NAME]);
    expect(await migrated({ folder })).toEqual([NAME]);
    expect(await invalidIndexes()).toEqual([]);
  });

  it('is applied again if only its record is missing', async () => {
    await openWith({ [NAME]: INDEX });
    await migrated({ folder });
    await client.query('delete from migrations where name = $1', [NAME]);
    expect(await migrated({ folder })).toEqual([NAME]);
  });
});

describe('a migration whose table is in use', () => {
  const NAME = '9000_attachment_hash.sql';
  beforeEach(async () => {
    await openWith({ [NAME]: 'alter table attachments add column hash text;' });
    await client.query('begin; select from attachments');
  });

  it('leaves the lock queue and retries until the table is free', async () => {
    // Ends the long transaction after the first failure.
    const end = (line: string) => {
      log(line);
      void client.query('commit');
    };
    expect(await migrated({ folder, log: end })).toEqual([NAME]);
    expect(lines).toEqual([expect.stringMatching(`Migration ${NAME} waits for a table`)]);
  });

  it('retries after a deadlock', async () => {
    // The server finds a deadlock for whoever has waited for a second: this client would wait for longer.
    await client.query(
      `commit; begin; lock migrations in exclusive mode; set local deadlock_timeout = '1min'`,
    );
    const [done] = await Promise.all([
      migrated({ folder }),
      // The migration has the attachments once it waits in order to record itself.
      client.query(`
        do $$ begin
          while not exists (select from pg_locks where relation = 'migrations'::regclass and not granted) loop
            perform pg_sleep(0.01);
          end loop;
          perform from attachments;
        end $$;
        commit`),
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
    await expect(migrated({ folder, lockTimeoutMs: 0 })).rejects.toThrow(
      `migration ${NAME} failed: canceling statement due to lock timeout`,
    );
    await client.query('commit');
    expect(await migrated({ folder })).toEqual([NAME]);
  });
});

test('events that were emitted before each workspace had an order of its own are published', async () => {
  await openBefore('0102');
  const id = (name: string): string => firstId(new Date()).slice(0, 23) + name;
  const emit = (workspaceId: string, name: string): string =>
    `insert into emitted_events (workspace_id, id) values ('org_${workspaceId}', '${id(name)}');`;
  await client.query(`
    begin;
    set local app.migrating = 'on';
    insert into workspaces (id, name) values ('org_1', 'One'), ('org_2', 'Two');
    insert into published_events values ('org_1', '${id('a')}', 7);
    commit`);
  // The late event of a transaction that was running when the others were published, and one that came after.
  await connected(database.systemUrl, async (late) => {
    await late.query(`begin; ${emit('1', 'b')}`);
    await connected(database.systemUrl, async (system) => {
      await system.query(
        `insert into event_batches (position, snapshot, workspace_ids) values (9, pg_current_snapshot(), '{}')`,
      );
      await system.query(emit('1', 'c'));
      await system.query(emit('2', 'd'));
    });
    await late.query('commit');
  });
  await migrated();

  const pools = await createPools(database);
  await connected(database.systemUrl, (system) => system.query(emit('1', 'e')));
  await publishAllEvents(pools, () => true);
  await pools.close();
  const { rows } = await connected(database.systemUrl, (system) =>
    system.query<{ workspace_id: string; names: string[] }>(
      `select workspace_id, array_agg(right(id, 1) || position order by position) names from published_events group by 1 order by 1`,
    ),
  );
  expect(rows).toEqual([
    { workspace_id: 'org_1', names: ['a7', 'b10', 'c11', 'e13'] },
    { workspace_id: 'org_2', names: ['d12'] },
  ]);
});

test('attempts that a moved line brought along name no contact any more, and those of the workspace do', async () => {
  await openBefore('0107');
  const hourAgo = new Date(Date.now() - 3_600_000);
  const [line, own, brought] = [newId(hourAgo), newId(hourAgo), newId(hourAgo)];
  const attempt = (messageId: string): string => `
    insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by,
      outcome, reason)
    values ('org_2', '${messageId}', '${messageId}', '${line}', 'primary', 'imessage', 'simulated', '+14155550100', false,
      now() - interval '1 hour', now(), 'refused', '4005 no +14155550100');`;
  await client.query(`
    begin;
    set local app.migrating = 'on';
    insert into workspaces (id, name) values ('org_1', 'One'), ('org_2', 'Two');
    insert into line_moves (line_id, id, from_workspace_id, to_workspace_id) values ('${line}', '${line}', 'org_1', 'org_2');
    insert into messages (workspace_id, id, channel, status, address, scheduled_at, source)
    values ('org_2', '${own}', 'imessage', 'failed', '+14155550100', now(), 'api');
    ${attempt(own)}
    ${attempt(brought)}
    commit`);
  await migrated();
  const { rows } = await connected(database.systemUrl, (system) =>
    system.query('select address, reason from attempts order by address'),
  );
  expect(rows).toEqual([
    { address: '+14155550100', reason: '4005 no +14155550100' },
    { address: `erased:${brought}`, reason: '4005' },
  ]);
});

test('what is stored about a contact by several forms of a number is joined', async () => {
  await openBefore('0175');
  const mexican = { key: '+525587651111', other: '+5215587651111' };
  const brazilian = '+554188887771';
  const [list, line] = [newId(), newId()];
  const leads = [newId(), newId(), newId()];
  const lead = (id: string | undefined, ...phones: string[]): string => `
    insert into leads (workspace_id, id, list_id, phones) values ('org_1', '${id}', '${list}', '{${phones.join(',')}}');
    ${phones.map((phone) => `insert into list_addresses values ('org_1', '${list}', '${phone}', '${id}');`).join('')}`;
  const draft = (id: string, address: string): string =>
    `insert into ai_drafts (workspace_id, reply_id, address, due_at) values ('org_1', '${id}', '${address}', now());`;
  const suspicion = (address: string): string => `
    insert into opt_out_suspicions (workspace_id, id, address, reply_id)
    values ('org_1', '${newId()}', '${address}', '${newId()}');`;
  const both = (row: (address: string) => string): string => [mexican.key, mexican.other].map(row).join('');
  await client.query(`
    begin;
    set local app.migrating = 'on';
    insert into agencies (id, name) values ('agency_1', 'One');
    insert into workspaces (id, name) values ('org_1', 'One');
    insert into lead_lists (workspace_id, id, name, lead_count) values ('org_1', '${list}', 'All', 3);
    ${lead(leads[0], mexican.key)}
    ${lead(leads[1], mexican.other)}
    ${lead(leads[2], brazilian, '+14155550100')}
    insert into opt_outs (workspace_id, address, source, created_at) values
      ('org_1', '${mexican.key}', 'api', '2026-03-02'), ('org_1', '${mexican.other}', 'reply', '2026-03-01'),
      ('org_1', '${brazilian}', 'reply', '2026-03-03');
    insert into consents (workspace_id, id, address, channel, status, source, at)
      values ('org_1', '${newId()}', '${mexican.other}', 'any', 'revoked', 'keyword', now());
    insert into agency_suppressions (agency_id, value) values ('agency_1', '${mexican.other}'), ('agency_1', '${brazilian}');
    insert into conversations (workspace_id, address, last_outbound_at, last_inbound_at, tags, status) values
      ('org_1', '${mexican.key}', '2026-03-01', null, '{vip}', 'closed'),
      ('org_1', '${mexican.other}', null, '2026-03-02', '{hot}', 'open');
    ${both((address) => `insert into line_contacts values ('org_1', '${line}', '${address}', now(), null);`)}
    ${both((address) => `insert into conversation_reads values ('org_1', '${address}', 'user_1', now());`)}
    ${both(suspicion)}
    ${draft(newId(), mexican.key)}
    ${draft('f'.repeat(24), mexican.other)}
    insert into messages (workspace_id, id, channel, status, address, recipient_phone, scheduled_at, source)
      values ('org_1', '${newId()}', 'sms', 'sent', '${brazilian}', '${brazilian}', now(), 'api');
    insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, received_at)
      values ('org_1', '${newId()}', '${line}', '${mexican.other}', 'SM1', now());
    commit`);
  await migrated();
  const rows = async (query: string) =>
    (await connected(database.systemUrl, (system) => system.query(query))).rows;
  const brazil = '+5541988887771';
  expect(await rows('select address, created_at::date::text "day", source from opt_outs order by 1')).toEqual(
    [
      { address: mexican.key, day: '2026-03-01', source: 'api' },
      { address: brazil, day: '2026-03-03', source: 'reply' },
    ],
  );
  expect(await rows('select address from consents')).toEqual([{ address: mexican.key }]);
  expect(await rows('select value from agency_suppressions order by 1')).toEqual([
    { value: mexican.key },
    { value: brazil },
  ]);
  expect(
    await rows(
      'select address, tags, status, last_inbound_at is not null and last_outbound_at is not null joined from conversations',
    ),
  ).toEqual([{ address: mexican.key, tags: ['hot', 'vip'], status: 'open', joined: true }]);
  for (const table of ['line_contacts', 'conversation_reads'])
    expect(await rows(`select address from ${table}`)).toEqual([{ address: mexican.key }]);
  expect(await rows('select address, status from opt_out_suspicions order by id')).toEqual([
    { address: mexican.key, status: 'open' },
    { address: mexican.key, status: 'dismissed' },
  ]);
  expect(await rows('select address, status from ai_drafts order by reply_id')).toEqual([
    { address: mexican.key, status: 'superseded' },
    { address: mexican.key, status: 'waiting' },
  ]);
  expect(await rows('select address, lead_id from list_addresses order by 1')).toEqual([
    { address: '+14155550100', lead_id: leads[2] },
    { address: mexican.key, lead_id: leads[0] },
    { address: brazil, lead_id: leads[2] },
  ]);
  expect(await rows('select lead_count from lead_lists')).toEqual([{ lead_count: 2 }]);
  expect(await rows('select address, recipient_phone from messages')).toEqual([
    { address: brazil, recipient_phone: brazilian },
  ]);
  expect(await rows('select address, sender_phone from inbound_messages')).toEqual([
    { address: mexican.key, sender_phone: mexican.other },
  ]);
  // A process of the previous release.
  await connected(database.systemUrl, (system) =>
    system.query(
      `insert into opt_outs (workspace_id, address, source) values ('org_1', '+554188887772', 'reply')`,
    ),
  );
  expect(await rows(`select address from opt_outs where address like '%7772'`)).toEqual([
    { address: '+5541988887772' },
  ]);
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
