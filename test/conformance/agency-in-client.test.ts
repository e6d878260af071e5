import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { createAgency, createWorkspace, insertRow } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

describe('a client named in X-Workspace-Id by a co-admin of its agency', () => {
  const coAdmin = async () => {
    const agency = await createAgency(app);
    const workspace = await createWorkspace(app, { agency_id: agency.id });
    const userId = `user_${newId()}`;
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Casey' });
    await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: userId, role: 'co_admin' });
    const api = await sessionClient(app, { userId });
    const owner = await sessionClient(app, { userId: agency.ownerId });
    const named = { 'x-workspace-id': workspace.id };
    const put = () => api('PUT', '/api/knowledge-base', { mode: 'off' }, named);
    return { agency, workspace, userId, api, owner, named, put };
  };

  it('records that person in the log of the workspace', async () => {
    const { api, named, userId, put } = await coAdmin();
    expect((await put()).status).toBe(200);
    const { entries } = (await api('GET', '/api/audit-log', undefined, named)).body;
    expect(entries).toMatchObject([
      {
        actor: { type: 'user', id: userId, name: 'Casey' },
        channel: 'session',
        action: 'knowledge_base.updated',
      },
    ]);
  });

  it('is open to that person as to its admins', async () => {
    const { api, named, workspace } = await coAdmin();
    const away = await api('PUT', `/api/team/${workspace.ownerId}/away`, { away: true }, named);
    expect(away).toMatchObject({ status: 200, body: { member: { away: true } } });
  });

  it('does not exist from the request after their removal', async () => {
    const { put, owner, userId } = await coAdmin();
    expect((await put()).status).toBe(200);
    expect((await owner('DELETE', `/api/agency/admins/${userId}`)).status).toBe(200);
    expect(await put()).toMatchObject({ status: 404, body: { code: 'WORKSPACE_NOT_FOUND' } });
  });

  it.each([
    ['once their agency is not active', sql.fragment`update agencies set is_active = false where id = `],
    [
      'once it has left their agency',
      sql.fragment`update workspaces set agency_id = null where agency_id = `,
    ],
  ])('does not exist %s', async (_, update) => {
    const { put, agency } = await coAdmin();
    expect((await put()).status).toBe(200);
    await withSystem(app.pools, (db) => db.query(sql.type(NoRows)`${update}${agency.id}`));
    expect(await put()).toMatchObject({ status: 404, body: { code: 'WORKSPACE_NOT_FOUND' } });
  });

  it('is read-only while its payment is overdue', async () => {
    const { put, workspace, api, named } = await coAdmin();
    await withSystem(app.pools, (db) =>
      db.query(
        sql.type(NoRows)`update workspaces set subscription_status = 'past_due' where id = ${workspace.id}`,
      ),
    );
    expect(await put()).toMatchObject({ body: { code: 'READ_ONLY' } });
    expect((await api('GET', '/api/knowledge-base', undefined, named)).status).toBe(200);
  });

  it('opens none of what is the agency owner’s', async () => {
    const { api, named } = await coAdmin();
    for (const path of ['keys', 'members', 'admins', 'invitations', 'billing', 'audit-log']) {
      const { body } = await api('GET', `/api/agency/${path}`, undefined, named);
      expect(body.code, path).toBe('AGENCY_OWNER_REQUIRED');
    }
  });
});
