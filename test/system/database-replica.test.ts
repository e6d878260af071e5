import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi } from '#api/server.ts';
import { createPools, type Pools } from '#db/connection/pools.ts';
import { newId } from '#domain/base/ids.ts';
import { call, tenantRoutes } from '#test/conformance/requests.ts';
import { connected } from '#db/connection/connected.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';

/**
 * The replica is another database, which holds another lead of the same workspace: so each response shows where it was
 * read. It refuses to be written to, as a standby does.
 */
let replica: TestDatabase;
let replicaPools: Pools;
let app: OwnApp;
let workspace: TestWorkspace;
const listId = newId();
const leadId = newId();

beforeAll(async () => {
  replica = await createTestDatabase();
  replicaPools = await createPools(replica, { size: 1 });
  app = await startTestApp({ worker: false, environment: { DATABASE_REPLICA_URL: replica.tenantUrl } });
  workspace = await createWorkspace(app);
  const { id, ownerId } = workspace;
  const elsewhere = { pools: replicaPools };
  await insertRow(elsewhere, 'users', { id: ownerId, email: `${ownerId}@example.test` });
  await insertRow(elsewhere, 'workspaces', { id, name: 'Test', created_by_user_id: ownerId });
  for (const [target, name] of [
    [app, 'Primary'],
    [elsewhere, 'Replica'],
  ] as const) {
    await insertRow(target, 'lead_lists', { workspace_id: id, id: listId, name });
    const lead = { workspace_id: id, id: leadId, list_id: listId, first_name: name };
    const phone = '+14155550100';
    await insertRow(target, 'leads', { ...lead, phones: [phone] });
    const member = { workspace_id: id, list_id: listId, lead_id: leadId };
    await insertRow(target, 'list_addresses', { ...member, address: phone });
  }
  // At the end, because the pool above may have to open its connection again.
  await connected(replica.ownerUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>('select current_database() name');
    await client.query(`alter database ${rows[0]?.name} set default_transaction_read_only = on`);
  });
});
afterAll(async () => {
  await app.stop();
  await replicaPools.close();
  await replica.drop();
});

describe('with DATABASE_REPLICA_URL', () => {
  it('searches and exports read the replica, everything else the primary', async () => {
    const found = await workspace.api('GET', '/api/leads?search=Replica');
    expect(found.body.leads).toMatchObject([{ _id: leadId, firstName: 'Replica' }]);
    expect((await workspace.api('GET', '/api/leads?search=Primary')).body.leads).toEqual([]);
    expect((await workspace.api('GET', `/api/lists/${listId}/export`)).body).toContain('Replica');
    expect((await workspace.api('GET', `/api/leads/${leadId}/export`)).body.leads).toMatchObject([
      { firstName: 'Replica' },
    ]);
    const { body } = await workspace.api('GET', `/api/leads/${leadId}`);
    expect(body.lead).toMatchObject({ firstName: 'Primary' });
  });

  it('every slow read works on a server that cannot be written to', async () => {
    const slow = tenantRoutes.filter(({ heavy }) => heavy);
    expect(slow.length).toBeGreaterThan(4);
    const failures = [];
    for (const route of slow) {
      const { status, body } = await call(app.url, route, `Bearer ${workspace.key}`);
      if (status >= 500) failures.push({ id: route.id, status, body });
    }
    expect(failures).toEqual([]);
  });

  it('changes are still written to the primary', async () => {
    const changed = await apiClient(app.url, workspace.key)('PATCH', `/api/leads/${leadId}`, {
      firstName: 'Changed',
    });
    expect(changed).toMatchObject({ status: 200, body: { lead: { firstName: 'Changed' } } });
  });

  it('so are those of a segment, whose count reads all leads', async () => {
    const when = [{ field: 'firstName', op: 'exists' }];
    const { status, body } = await workspace.api('POST', '/api/segments', { name: 'All', when });
    expect([status, body]).toMatchObject([201, { segment: { count: 1 } }]);
    const changed = await workspace.api('PATCH', `/api/segments/${body.segment._id}`, { name: 'Everybody' });
    expect(changed).toMatchObject({ status: 200, body: { segment: { count: 1 } } });
    const stored = await connected(app.ownerUrl, (client) => client.query('select name from segments'));
    expect(stored.rows).toEqual([{ name: 'Everybody' }]);
  });

  it('a process refuses to start whose login at the replica owns the schema', async () => {
    const { config } = app;
    const database = { ...config.database, replicaUrl: replica.ownerUrl };
    await expect(startApi({ ...config, port: 0, database })).rejects.toThrow('log in as linepace_tenant');
  });
});
