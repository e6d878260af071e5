import pg from 'pg';
import { createPool, sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '#db/migrate.ts';
import { createPools } from '#db/connection/pools.ts';
import { withSystem, withTenant } from '#db/connection/transactions.ts';
import { listTeam } from '#db/queries/accounts/team.ts';
import { restrictedLogin } from '#db/connection/restricted-login.ts';
import { newId, newUserId, newWorkspaceId } from '#domain/base/ids.ts';
import { databaseLogins } from '#standalone/database-logins.ts';
import { connected } from '#db/connection/connected.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import { problemsOf } from '#test/support/catalog.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const asOwner = <T>(work: (client: pg.Client) => Promise<T>): Promise<T> =>
  connected(database.ownerUrl, work);

describe('the schema', () => {
  it('secures every tenant table, even against its owner, and grants access to rows only', async () => {
    expect(await asOwner(problemsOf)).toEqual([]);
  });

  it.each([
    ['create table strays (id text primary key)', 'strays has no column workspace_id'],
    [
      `create table strays (workspace_id text, id text, primary key (id, workspace_id)); call tenant_table('strays')`,
      'strays has the key strays_pkey that does not begin with workspace_id',
    ],
    [
      'create unique index leads_email on leads (contact_owner_email)',
      'leads has the key leads_email that does not begin with workspace_id',
    ],
    [
      'alter table leads add created_by text references users (id)',
      'leads has the key leads → users that does not begin with workspace_id',
    ],
    [
      `create table strays (workspace_id text, id text); call tenant_table('strays')`,
      'strays has no primary key',
    ],
    [
      'create table strays (workspace_id text, id text, primary key (workspace_id, id))',
      'strays has no row-level security',
    ],
    ['alter table leads no force row level security', 'leads does not force row-level security on its owner'],
    [
      'create policy wide on leads to linepace_tenant using (true)',
      'leads has the policy wide linepace_tenant ALL true -',
    ],
    ['grant select on users to linepace_tenant', 'users grants SELECT to linepace_tenant'],
    ['grant truncate on leads to linepace_system', 'leads grants TRUNCATE to linepace_system'],
    ['grant update on audit_log to linepace_system', 'audit_log grants UPDATE to linepace_system'],
    ['grant delete on audit_log to linepace_tenant', 'audit_log grants DELETE to linepace_tenant'],
    ['grant select on leads to public', 'leads grants SELECT to PUBLIC'],
    [
      `create table strays (workspace_id text, id text, primary key (workspace_id, id)) partition by hash (workspace_id);
       create table strays_0 partition of strays for values with (modulus 1, remainder 0);
       call tenant_table('strays'); grant select on strays_0 to linepace_tenant`,
      'strays_0 grants SELECT to linepace_tenant',
    ],
    [
      'create view everybody as select * from users; grant select on everybody to linepace_tenant',
      'everybody grants SELECT to linepace_tenant',
    ],
    [
      'create function peek() returns bigint language sql security definer return 1',
      'peek() may be called by everybody',
    ],
  ])('fails this check after: %s', async (statements, problem) => {
    await asOwner(async (client) => {
      await client.query(`begin; ${statements}`);
      expect(await problemsOf(client)).toContain(problem);
      await client.query('rollback');
    });
  });

  it('gives access to partitions through their table only', async () => {
    await asOwner((client) =>
      client.query(
        `create table parted (workspace_id text, id text, primary key (workspace_id, id)) partition by hash (workspace_id);
         create table parted_0 partition of parted for values with (modulus 1, remainder 0);
         call tenant_table('parted');
         insert into parted select 'org_1', '1' where set_config('app.migrating', 'on', false) is not null`,
      ),
    );
    for (const url of [database.tenantUrl, database.systemUrl]) {
      await connected(url, async (client) => {
        await client.query(`set app.workspace_id = 'org_1'`);
        expect((await client.query('select from parted')).rowCount).toBe(1);
        await expect(client.query('select from parted_0')).rejects.toThrow('permission denied');
      });
    }
    await asOwner((client) => client.query('drop table parted'));
  });
});

describe('the login of a process', () => {
  it.each(['tenantUrl', 'systemUrl'] as const)('cannot become another role (%s)', async (name) => {
    await connected(database[name], async (client) => {
      const user = async () => (await client.query('select current_user as user')).rows[0].user as string;
      const before = await user();
      await client.query('reset role');
      await client.query('reset session authorization');
      expect(await user()).toBe(before);
      const { rows } = await client.query('select rolname from pg_roles where rolname <> current_user');
      expect(rows.length).toBeGreaterThan(3);
      for (const { rolname } of rows) {
        for (const way of ['role', 'session authorization']) {
          await expect(
            client.query(`set ${way} ${pg.escapeIdentifier(rolname as string)}`),
            `set ${way} ${rolname}`,
          ).rejects.toThrow('permission denied');
        }
      }
    });
  });

  it.each(['tenantUrl', 'systemUrl'] as const)('cannot create or alter objects (%s)', async (name) => {
    await connected(database[name], async (client) => {
      await expect(client.query('create table mine (id text)')).rejects.toThrow('permission denied');
      await expect(client.query('alter table leads no force row level security')).rejects.toThrow(
        'must be owner',
      );
    });
  });
});

describe('a pool', () => {
  it("refuses the owner's login and the login of the other pool", async () => {
    const { ownerUrl, tenantUrl, systemUrl } = database;
    await expect(createPools({ tenantUrl: ownerUrl, systemUrl })).rejects.toThrow(
      /has to log in as linepace_tenant.*; it logs in as postgres/,
    );
    await expect(createPools({ tenantUrl, systemUrl: tenantUrl })).rejects.toThrow(
      /has to log in as linepace_system.*; it logs in as linepace_tenant/,
    );
  });

  it('leaves no connection behind if another one is refused', async () => {
    const own = await createTestDatabase();
    const { ownerUrl, systemUrl } = own;
    await expect(createPools({ tenantUrl: systemUrl, systemUrl })).rejects.toThrow(/linepace_tenant/);
    await connected(ownerUrl, async (client) => {
      const others =
        'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
      // Sooner than an idle connection is closed.
      const options = { timeout: 5000 };
      await expect.poll(async () => (await client.query(others)).rowCount, options).toBe(0);
    });
    await own.drop();
  });

  const role = `test_${newId()}`;
  it.each([
    ['a superuser', `alter role ${role} superuser`, 'this one has SUPERUSER'],
    ['a role that bypasses row-level security', `alter role ${role} bypassrls`, 'SUPERUSER, BYPASSRLS'],
    ['a role that can create roles', `alter role ${role} createrole`, 'SUPERUSER, BYPASSRLS, CREATEROLE'],
    ['a member of another role', `grant linepace_system to ${role}`, 'is a member of another role'],
    ['the owner of a table', `create table mine (); alter table mine owner to ${role}`, 'owns objects'],
    [
      'a role that acts as another by a setting',
      `grant linepace_system to ${role}; alter role ${role} set role linepace_system`,
      'acts as linepace_system',
    ],
  ])('refuses %s', async (_, statements, problem) => {
    await asOwner((client) => client.query(`create role ${role} login password 'secret'; ${statements}`));
    const url = Object.assign(new URL(database.tenantUrl), { username: role, password: 'secret' }).href;
    const pool = await createPool(url, { interceptors: [restrictedLogin(role)] });
    try {
      await expect(pool.query(sql.unsafe`select`)).rejects.toThrow(problem);
    } finally {
      await pool.end();
      await asOwner((client) => client.query(`drop owned by ${role}; drop role ${role}`));
    }
  });
});

describe('an owner who is no superuser', () => {
  const owner = `test_${newId()}`;
  const url = (): string =>
    Object.assign(new URL(database.ownerUrl), { username: owner, password: 'secret', pathname: `/${owner}` })
      .href;

  beforeAll(async () => {
    await asOwner((client) =>
      client.query(`create role ${owner} login createrole password 'secret';
        grant linepace_tenant, linepace_system, linepace_definer to ${owner} with admin true, inherit false`),
    );
    await asOwner((client) => client.query(`create database ${owner} owner ${owner}`));
    await migrate(url(), databaseLogins(database.ownerUrl));
  });
  afterAll(async () => {
    await asOwner((client) => client.query(`drop database ${owner} with (force)`));
    await asOwner((client) => client.query(`drop role ${owner}`));
  });

  it("can migrate, and sees tenants' rows only while it does", async () => {
    await connected(url(), async (client) => {
      expect(await problemsOf(client)).toEqual([]);
      const id = newWorkspaceId();
      const count = async (): Promise<number> => (await client.query('select from workspaces')).rowCount ?? 0;
      await expect(client.query(`insert into workspaces (id, name) values ($1, 'W')`, [id])).rejects.toThrow(
        'row-level security',
      );
      await client.query(`set app.migrating = 'on'`);
      await client.query(`insert into workspaces (id, name) values ($1, 'W')`, [id]);
      expect(await count()).toBe(1);
      await client.query('reset app.migrating');
      expect(await count()).toBe(0);
    });
  });

  it('keeps temporary tables away from functions with the rights of their owner', async () => {
    await connected(url(), async (client) => {
      const { rows } = await client.query(`
        select proname as name from pg_proc
        where prosecdef and pronamespace = 'public'::regnamespace
          and not coalesce(proconfig, '{}') && array['search_path=public, pg_temp']`);
      expect(rows).toEqual([]);
    });
    const tenant = Object.assign(new URL(database.tenantUrl), { pathname: `/${owner}` }).href;
    await connected(tenant, async (client) => {
      await expect(client.query('create temporary table workspace_members (role text)')).rejects.toThrow(
        'permission denied to create temporary tables',
      );
    });
  });

  it('leaves tenants the access that they have beyond their rows', async () => {
    const as = (login: string): string => Object.assign(new URL(login), { pathname: `/${owner}` }).href;
    const pools = await createPools({ tenantUrl: as(database.tenantUrl), systemUrl: as(database.systemUrl) });
    const [id, other, userId] = [newWorkspaceId(), newWorkspaceId(), newUserId()];
    await withSystem(pools, async (db) => {
      await db.query(sql.unsafe`insert into users (id, email) values (${userId}, 'ada@example.com')`);
      await db.query(sql.unsafe`insert into workspaces (id, name) values (${id}, 'W'), (${other}, 'O')`);
      await db.query(
        sql.unsafe`insert into workspace_members (workspace_id, user_id, role) values (${id}, ${userId}, 'org:admin')`,
      );
    });
    expect(await withTenant(pools, id, listTeam)).toMatchObject([{ email: 'ada@example.com' }]);
    expect(await withTenant(pools, other, listTeam)).toEqual([]);
    await pools.close();
  });
});
