import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newUserId } from '#domain/base/ids.ts';
import { startApi } from '#api/server.ts';
import { freePort } from '#providers/free-port.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';
import { firstMailTo } from '#test/support/mails.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: TestWorkspace;
let owner: ApiClient;
beforeAll(async () => {
  app = await sharedApp();
});
beforeEach(async () => {
  workspace = await createWorkspace(app);
  owner = await sessionOf(workspace.ownerId);
});

type RoleName = 'org:admin' | 'org:member';
const sessionOf = (userId: string, role: RoleName = 'org:admin'): Promise<ApiClient> =>
  sessionClient(app, { userId, organizationId: workspace.id, role });
async function addMember(role: RoleName): Promise<string> {
  const userId = newUserId();
  await insertRow(app, 'users', { id: userId, email: `${userId}@example.test` });
  await insertRow(app, 'workspace_members', { workspace_id: workspace.id, user_id: userId, role });
  return userId;
}
const rolesOf = async (): Promise<Map<string, string>> =>
  new Map(
    (await owner('GET', '/api/team')).body.members.map(
      ({ userId, role }: { userId: string; role: string }) => [userId, role],
    ),
  );
const statusOf = async (client: ApiClient, path = '/api/lists') => (await client('GET', path)).status;
/** Whether a session may do what only admins may. */
const isAdmin = async (client: ApiClient): Promise<boolean> => {
  const { status, body } = await client('GET', '/api/keys');
  expect([200, 403]).toContain(status);
  if (status === 403) expect(body.code).toBe('ADMIN_REQUIRED');
  return status === 200;
};

describe('a session', () => {
  it('is refused in a workspace of which its user is not a member', async () => {
    const stranger = await sessionOf(newUserId(), 'org:member');
    expect(await stranger('GET', '/api/lists')).toMatchObject({
      status: 401,
      body: { code: 'UNAUTHORIZED' },
    });
    const other = await createWorkspace(app);
    expect(await statusOf(await sessionOf(other.ownerId, 'org:member'))).toBe(401);
  });

  it.each<[token: RoleName, member: RoleName, admin: boolean]>([
    ['org:admin', 'org:admin', true],
    ['org:admin', 'org:member', false],
    ['org:member', 'org:admin', false],
    ['org:member', 'org:member', false],
  ])('with the role %s of a member with the role %s is an admin: %s', async (token, member, admin) => {
    const client = await sessionOf(await addMember(member), token);
    expect([await statusOf(client), await isAdmin(client)]).toEqual([200, admin]);
  });

  it("of an admin of the provider's organization makes them a member the first time", async () => {
    const userId = newUserId();
    const client = await sessionOf(userId);
    const first = await Promise.all(Array.from({ length: 4 }, () => statusOf(client)));
    expect(first).toEqual([200, 200, 200, 200]);
    expect((await rolesOf()).get(userId)).toBe('org:admin');
    const { entries } = (await owner('GET', '/api/audit-log?action=member.joined')).body;
    expect(entries).toMatchObject([{ actor: { id: userId } }]);
    // Their address is not known.
    const { members } = (await owner('GET', '/api/team')).body;
    expect(members.at(-1)).toMatchObject({ userId, email: '', isOwner: false });
  });
});

describe('a member', () => {
  it('whose role is lowered is no admin any more', async () => {
    const userId = await addMember('org:admin');
    const client = await sessionOf(userId);
    expect(await isAdmin(client)).toBe(true);
    const changed = await owner('PATCH', `/api/team/${userId}`, { role: 'org:member' });
    expect(changed).toMatchObject({ status: 200, body: { member: { userId, role: 'org:member' } } });
    expect(await isAdmin(client)).toBe(false);
    expect(await client('PATCH', `/api/team/${userId}`, { role: 'org:admin' })).toMatchObject({
      status: 403,
      body: { code: 'ADMIN_REQUIRED' },
    });
    const { entries } = (await owner('GET', '/api/audit-log?action=member.updated')).body;
    expect(entries).toMatchObject([{ target: { id: userId }, changes: { role: 'org:member' } }]);
  });

  it('who is removed is refused by every process, stays removed, and keeps no event stream', async () => {
    const userId = await addMember('org:admin');
    const client = await sessionOf(userId);
    const port = await freePort();
    const second = await startApi({ ...app.config, port, metricsPort: null });
    try {
      const elsewhere = apiClient(
        second.url,
        await signIn(app, { userId, organizationId: workspace.id, role: 'org:admin' }),
      );
      expect([await statusOf(client), await statusOf(elsewhere)]).toEqual([200, 200]);
      const stream = await fetch(`${second.url}/api/events/stream`, {
        headers: {
          authorization: `Bearer ${await signIn(app, { userId, organizationId: workspace.id, role: 'org:admin' })}`,
        },
      });
      expect(stream.status).toBe(200);
      const ended = stream.text();
      expect((await owner('DELETE', `/api/team/${userId}`)).status).toBe(200);
      expect([await statusOf(client), await statusOf(elsewhere)]).toEqual([401, 401]);
      await ended;
      // Their provider still calls them an admin.
      expect(await statusOf(client)).toBe(401);
      expect((await rolesOf()).has(userId)).toBe(false);
    } finally {
      await second.stop();
    }
  });

  it('takes the keys that they have created with them, if that is asked for', async () => {
    const userId = await addMember('org:admin');
    const client = await sessionOf(userId);
    const keys = await Promise.all(
      ['one', 'two'].map(async (name) => (await client('POST', '/api/keys', { name })).body.key as string),
    );
    for (const key of keys) expect(await statusOf(apiClient(app.url, key))).toBe(200);
    const removed = await owner('DELETE', `/api/team/${userId}?revokeKeys=true`);
    expect(removed.body).toEqual({ success: true, revokedKeys: 2, activeWebhooks: 0 });
    for (const key of keys) expect(await statusOf(apiClient(app.url, key))).toBe(401);
    expect(await statusOf(workspace.api)).toBe(200);
    const { entries } = (await owner('GET', '/api/audit-log?action=member.removed')).body;
    expect(entries).toMatchObject([{ target: { id: userId }, changes: { revokedKeys: 2 } }]);
  });

  it('who owns the workspace, or is its last admin, remains an admin', async () => {
    for (const response of [
      owner('DELETE', `/api/team/${workspace.ownerId}`),
      owner('PATCH', `/api/team/${workspace.ownerId}`, { role: 'org:member' }),
    ])
      expect(await response).toMatchObject({ status: 409, body: { code: 'INVALID_STATE' } });
    const [one, two] = [await addMember('org:admin'), await addMember('org:admin')];
    const clients = [await sessionOf(one), await sessionOf(two)];
    // Each removes the other at the same time: one of them is no admin any more by then.
    await Promise.all([
      clients[0]?.('DELETE', `/api/team/${two}`),
      clients[1]?.('DELETE', `/api/team/${one}`),
    ]);
    expect((await rolesOf()).get(workspace.ownerId)).toBe('org:admin');
  });

  it('of another workspace, or of none, is not found', async () => {
    const other = await createWorkspace(app);
    for (const userId of [other.ownerId, newUserId(), 'nobody'])
      for (const response of [
        owner('DELETE', `/api/team/${userId}`),
        owner('PATCH', `/api/team/${userId}`, { role: 'org:admin' }),
      ])
        expect(await response).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });
});

describe('an invitation', () => {
  it('that is accepted by somebody who is signed in makes that user the member, also after they were removed', async () => {
    const userId = await addMember('org:member');
    await owner('DELETE', `/api/team/${userId}`);
    const email = `${userId}@mail.example.com`;
    expect((await owner('POST', '/api/team/invite', { email })).status).toBe(201);
    const { text } = await firstMailTo(app, email);
    const link = /https?:\S+\/invitations\/\S+/.exec(text)?.[0] ?? '';
    const token = await signIn(app, { userId, organizationId: workspace.id, role: 'org:member' });
    const accepted = await fetch(link, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
    expect(accepted.status).toBe(200);
    expect(await eventually(() => rolesOf())).toContainEqual([userId, 'org:member']);
    expect(await statusOf(apiClient(app.url, token))).toBe(200);
  });
});

describe('a removed co-admin', () => {
  it('loses the keys they created for clients of the agency, if that is asked for', async () => {
    const agency = await createAgency(app);
    const [client, foreign] = [
      await createWorkspace(app, { agency_id: agency.id }),
      await createWorkspace(app),
    ];
    const userId = newUserId();
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test` });
    await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: userId, role: 'co_admin' });
    const keyIn = async ({ id: organizationId }: TestWorkspace): Promise<string> => {
      const session = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
      return (await session('POST', '/api/keys', { name: 'Theirs' })).body.key;
    };
    const keys = [await keyIn(client), await keyIn(foreign)];
    const statuses = () => Promise.all(keys.map((key) => statusOf(apiClient(app.url, key))));
    expect(await statuses()).toEqual([200, 200]);
    const agencyOwner = await sessionClient(app, { userId: agency.ownerId });
    const removed = await agencyOwner('DELETE', `/api/agency/admins/${userId}?revokeKeys=true`);
    expect(removed.body).toEqual({ success: true, revokedKeys: 1, activeWebhooks: 0 });
    expect(await statuses()).toEqual([401, 200]);
  });
});
