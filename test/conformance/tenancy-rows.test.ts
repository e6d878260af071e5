import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { newWorkspaceId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';

/** Whoever sets no workspace, or another one, finds and changes nothing: of every table in the catalog. */
interface Table {
  name: string;
  /** The column that says whose a row is. */
  owner: string;
  columns: Column[];
}
interface Column {
  name: string;
  /** For a domain: the type that it is based on. */
  type: string;
  category: string;
  labels: string[] | null;
}

const TABLES = `
  select c.relname as name, case when c.relname = 'workspaces' then 'id' else 'workspace_id' end as owner,
    jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null), 'category', t.typcategory,
      'labels', (select jsonb_agg(enumlabel) from pg_enum where enumtypid = t.oid))) as columns
  from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
    join pg_type t on t.oid = a.atttypid
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and exists (select from pg_policy where polrelid = c.oid and polname = 'tenant')
  group by c.relname order by 1`;

/** What may stop a made-up row: the rules of one table about its own columns. */
const CHECKS = `
  select format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement
  from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace and conrelid <> 0 and coninhcount = 0`;

const INTAKE = ['drip_buffer', 'drip_claims', 'idempotency_keys'];
const [mine, theirs] = [newWorkspaceId(), newWorkspaceId()];
let database: TestDatabase;
let tables: Table[];
beforeAll(async () => {
  database = await createTestDatabase();
  await connected(database.ownerUrl, async (client) => {
    ({ rows: tables } = await client.query<Table>(TABLES));
    for (const { statement } of (await client.query<{ statement: string }>(CHECKS)).rows)
      await client.query(statement);
    // Neither triggers nor foreign keys.
    await client.query(`set session_replication_role = replica; set app.migrating = 'on'`);
    for (const table of tables)
      for (const workspace of [mine, theirs]) await client.query(insertInto(table, workspace));
  });
});
afterAll(() => database.drop());

/** A row with a value in every column. */
function insertInto({ name, owner, columns }: Table, workspace: string): string {
  const values = columns.map((column) =>
    column.name === owner ? pg.escapeLiteral(workspace) : valueOf(column, workspace),
  );
  const names = columns.map((column) => pg.escapeIdentifier(column.name));
  return `insert into ${pg.escapeIdentifier(name)} (${names.join()}) values (${values.join()})`;
}

function valueOf({ type, category, labels }: Column, workspace: string): string {
  if (labels?.[0] !== undefined) return pg.escapeLiteral(labels[0]);
  if (category === 'A') return `'{}'`;
  if (type.startsWith('json')) return `'{}'`;
  if (type === 'bytea') return `'\\x00'`;
  if (type === 'uuid') return 'gen_random_uuid()';
  if (type === 'xid8') return `pg_current_xact_id()`;
  if (type === 'pg_snapshot') return `pg_current_snapshot()`;
  if (type === 'tsvector') return `''`;
  if (category === 'N') return '1';
  if (category === 'B') return 'false';
  if (category === 'D') return 'now()';
  if (category === 'T') return `'1 second'`;
  // The form of an id, unique for each workspace.
  return pg.escapeLiteral(workspace.slice(-24));
}

/** The tables in which a statement of a tenant finds, changes or refuses otherwise than expected. */
const wrongTables = (
  workspace: string | null,
  expected: number | 'refused',
  statement: (table: Table) => string,
): Promise<string[]> =>
  connected(database.tenantUrl, async (client) => {
    const wrong: string[] = [];
    for (const table of tables) {
      await client.query('begin');
      await client.query(`select set_config('app.workspace_id', $1, true)`, [workspace ?? '']);
      const outcome = await client.query(statement(table)).then(
        ({ rowCount }) => rowCount,
        ({ message }: Error) => (/row-level security|permission denied/.test(message) ? 'refused' : message),
      );
      await client.query('rollback');
      // What a tenant may never do, such as change the audit log, changes nothing either.
      const isRight = outcome === expected || (outcome === 'refused' && expected !== 1);
      if (!isRight) wrong.push(`${table.name}: ${outcome}`);
    }
    return wrong;
  });

const from = ({ name }: Table): string => `from ${pg.escapeIdentifier(name)}`;
const change = ({ name }: Table): string => `update ${pg.escapeIdentifier(name)} set`;

describe('of every tenant table', () => {
  it('a workspace sees its own row, and only that', async () => {
    expect(tables.length).toBeGreaterThan(40);
    expect(await wrongTables(mine, 1, (table) => `select ${from(table)}`)).toEqual([]);
  });

  it('no row is seen without a workspace', async () => {
    expect(await wrongTables(null, 0, (table) => `select ${from(table)}`)).toEqual([]);
  });

  it.each(['update', 'share', 'key share'])('no row of another workspace is locked for %s', async (lock) => {
    const statement = (table: Table) =>
      `select ${from(table)} where ${table.owner} = '${theirs}' for ${lock}`;
    expect(await wrongTables(mine, 0, statement)).toEqual([]);
  });

  it('no row of another workspace is updated or deleted, even by a statement without a condition', async () => {
    const update = (table: Table) => `${change(table)} ${table.owner} = ${table.owner}`;
    expect(await wrongTables(newWorkspaceId(), 0, update)).toEqual([]);
    expect(await wrongTables(newWorkspaceId(), 0, (table) => `delete ${from(table)}`)).toEqual([]);
  });

  it('no row is added to another workspace or moved there', async () => {
    const other = newWorkspaceId();
    expect(await wrongTables(mine, 'refused', (table) => insertInto(table, other))).toEqual([]);
    const move = (table: Table) => `${change(table)} ${table.owner} = '${other}'`;
    expect(await wrongTables(mine, 'refused', move)).toEqual([]);
  });
});

test('no statistics of the workspaces of a table are collected but by note_workspace_sizes()', async () => {
  const { rows } = await connected(database.ownerUrl, (client) =>
    client.query(
      `select c.relname "table" from pg_attribute a join pg_class c on c.oid = a.attrelid
       where a.attname = 'workspace_id' and c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not c.relispartition
         and a.attstattarget is distinct from 0`,
    ),
  );
  expect(rows).toEqual([]);
});

describe('of the tables of bulk intake', () => {
  const each = (outcome: unknown): unknown[] => INTAKE.map(() => outcome);
  const outcomes = (statement: (table: Table) => string): Promise<unknown[]> =>
    connected(database.systemUrl, async (client) => {
      const found: unknown[] = [];
      for (const table of tables.filter(({ name }) => INTAKE.includes(name))) {
        await client.query('begin');
        await client.query(`select set_config('app.intake_workspaces', $1, true)`, [
          `${mine},${newWorkspaceId()}`,
        ]);
        found.push(
          await client.query(statement(table)).then(
            ({ rowCount }) => rowCount,
            ({ message }: Error) => (message.includes('row-level security') ? 'refused' : message),
          ),
        );
        await client.query('rollback');
      }
      return found;
    });

  it('a batch sees and changes the rows of its own workspaces only', async () => {
    expect(await outcomes((table) => `select ${from(table)}`)).toEqual(each(1));
    expect(await outcomes((table) => `${change(table)} workspace_id = workspace_id`)).toEqual(each(1));
    expect(await outcomes((table) => `delete ${from(table)}`)).toEqual(each(1));
  });

  it('a batch adds and moves no row to another workspace', async () => {
    const other = newWorkspaceId();
    expect(await outcomes((table) => insertInto(table, other))).toEqual(each('refused'));
    expect(await outcomes((table) => `${change(table)} workspace_id = '${other}'`)).toEqual(each('refused'));
  });
});
