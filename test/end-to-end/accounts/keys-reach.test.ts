import { beforeAll, describe, expect, it, test } from 'vitest';
import { connected } from '#db/connection/connected.ts';
import { newUserId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient, type ApiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import {
  createAgency,
  createLine,
  createWorkspace,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { firstMailTo, mailsTo } from '#test/support/mails.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp();
});

async function newWorkspace() {
  const workspace = await createWorkspace(app);
  const { ownerId: userId, id: organizationId } = workspace;
  return { ...workspace, owner: await sessionClient(app, { userId, organizationId, role: 'org:admin' }) };
}

async function keyOf(owner: ApiClient, settings: object = {}) {
  const { status, body } = await owner('POST', '/api/keys', { name: 'Key', ...settings });
  expect(status).toBe(201);
  return { id: body._id as string, api: apiClient(app.url, body.key) };
}

async function addMember({ id }: TestWorkspace, role: string): Promise<string> {
  const userId = newUserId();
  await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Mia' });
  await insertRow(app, 'workspace_members', { workspace_id: id, user_id: userId, role });
  return userId;
}

const newEmail = (): string => `${newUserId()}@example.test`;
const invite = (api: ApiClient, email: string, role?: string) =>
  api('POST', '/api/team/invite', { email, ...(role !== undefined && { role }) });

/** The path of the link in the last email to an address. */
const linkTo = async (email: string): Promise<string> =>
  /\/invitations\/[\w-]+/.exec((await firstMailTo(app, email)).text)?.[0] ?? '';

const accept = async (email: string): Promise<number> =>
  (await fetch(app.url + (await linkTo(email)), { method: 'POST' })).status;

const NARROW: Record<string, object> = {
  'with fewer scopes': { scopes: ['read', 'manage'] },
  'that expires': { expiresInDays: 1 },
  'of some networks': { allowedIps: ['127.0.0.0/8', '::1'] },
};

describe('a key', () => {
  it.each(Object.keys(NARROW))('%s invites members, and no admins', async (kind) => {
    const { owner } = await newWorkspace();
    const { api } = await keyOf(owner, NARROW[kind]);
    expect(await invite(api, newEmail(), 'org:admin')).toMatchObject({
      status: 403,
      body: { code: 'INSUFFICIENT_SCOPE' },
    });
    const email = newEmail();
    expect((await invite(owner, email, 'org:admin')).status).toBe(201);
    expect((await invite(api, email, 'org:admin')).status).toBe(403);
    expect((await invite(api, newEmail())).status).toBe(201);
  });

  it('that nothing narrows invites an admin', async () => {
    const { owner } = await newWorkspace();
    const { api } = await keyOf(owner);
    expect((await invite(api, newEmail(), 'org:admin')).status).toBe(201);
  });

  it('changes no roles, and removes neither admins nor keys', async () => {
    const workspace = await newWorkspace();
    const { api } = await keyOf(workspace.owner);
    const [admin, member] = [
      await addMember(workspace, 'org:admin'),
      await addMember(workspace, 'org:member'),
    ];
    const refused = { status: 403, body: { code: 'SESSION_REQUIRED' } };
    expect(await api('PATCH', `/api/team/${member}`, { role: 'org:admin' })).toMatchObject(refused);
    expect(await api('DELETE', `/api/team/${admin}`)).toMatchObject(refused);
    expect(await api('DELETE', `/api/team/${member}?revokeKeys=true`)).toMatchObject(refused);
    expect(await api('DELETE', `/api/team/${member}`)).toMatchObject({ status: 200 });
    expect((await workspace.owner('DELETE', `/api/team/${admin}?revokeKeys=true`)).status).toBe(200);
  });

  it('takes its open invitations with it when it ends', async () => {
    const { owner } = await newWorkspace();
    const { id, api } = await keyOf(owner);
    const [early, late] = [newEmail(), newEmail()];
    await invite(api, early);
    await invite(api, late, 'org:admin');
    expect(await accept(early)).toBe(200);
    const link = await linkTo(late);
    expect((await owner('DELETE', `/api/keys/${id}`)).status).toBe(200);
    expect((await fetch(app.url + link, { method: 'POST' })).status).toBe(404);
    const { invitations } = (await owner('GET', '/api/team/invitations')).body;
    expect(invitations.map(({ email }: { email: string }) => email)).toEqual([early]);
    // Whoever may still invite can do so again.
    expect((await invite(owner, late)).status).toBe(201);
  });
});

describe('the owner', () => {
  it('hears of each new admin', async () => {
    const workspace = await newWorkspace();
    const own = `${workspace.ownerId}@example.test`;
    const { api } = await keyOf(workspace.owner);
    const email = newEmail();
    await invite(api, email, 'org:admin');
    expect(await accept(email)).toBe(200);
    const count = (mails: number) => eventually(async () => (await mailsTo(app, own)).length === mails);
    await count(1);
    expect((await mailsTo(app, own))[0]).toMatchObject({ subject: 'There is a new admin (Test)' });
    const member = await addMember(workspace, 'org:member');
    await workspace.owner('PATCH', `/api/team/${member}`, { role: 'org:admin' });
    await count(2);
    expect((await mailsTo(app, own))[1]?.text).toContain('Mia is now an admin');
    await invite(api, newEmail());
  });
});

test('the key that an expiring key of an agency makes for a new client ends with that key', async () => {
  const agency = await createAgency(app);
  const owner = await sessionClient(app, { userId: agency.ownerId, organizationId: null, role: null });
  const made = await owner('POST', '/api/agency/keys', { name: 'Import', expiresInDays: 1 });
  expect(made.status).toBe(201);
  const byKey = apiClient(app.url, made.body.key);
  const client = await byKey('POST', '/api/agency/subaccounts', { name: 'Acme', timezone: 'Europe/Berlin' });
  expect(client.status).toBe(201);
  const first = apiClient(app.url, client.body.workspaceApiKey);
  expect((await first('GET', '/api/workspace')).status).toBe(200);
  const admin = await sessionClient(app, {
    userId: agency.ownerId,
    organizationId: client.body.subAccount.idpOrgId,
    role: 'org:admin',
  });
  const [key] = (await admin('GET', '/api/keys')).body.keys;
  expect(key.expiresAt).toBe(made.body.expiresAt);
});

describe('a webhook', () => {
  const made = async (api: ApiClient) =>
    (
      await api('POST', '/api/webhooks', {
        name: 'Mine',
        url: 'https://hooks.example.com/a',
        events: ['line.down'],
      })
    ).body.webhook._id as string;
  const isActive = async (owner: ApiClient, id: string): Promise<boolean> =>
    (await owner('GET', `/api/webhooks/${id}`)).body.webhook.isActive;

  it.each(Object.keys(NARROW))('of a key %s ends with the key, unless an admin keeps it', async (kind) => {
    const { owner } = await newWorkspace();
    const key = await keyOf(owner, NARROW[kind]);
    const [lost, kept, ofOwner] = [await made(key.api), await made(key.api), await made(owner)];
    expect(await owner('PATCH', `/api/webhooks/${kept}`, { isActive: true })).toMatchObject({ status: 200 });
    expect(await isActive(owner, lost)).toBe(true);
    const url = 'https://elsewhere.example.com/';
    expect(await key.api('PATCH', `/api/webhooks/${ofOwner}`, { url })).toMatchObject({ status: 403 });
    expect(await key.api('PATCH', `/api/webhooks/${lost}`, { url })).toMatchObject({ status: 200 });
    const rotate = (id: string) => key.api('POST', `/api/webhooks/${id}/rotate-secret`);
    expect([(await rotate(ofOwner)).status, (await rotate(lost)).status]).toEqual([403, 200]);
    expect((await owner('DELETE', `/api/keys/${key.id}`)).status).toBe(200);
    expect([
      await isActive(owner, lost),
      await isActive(owner, kept),
      await isActive(owner, ofOwner),
    ]).toEqual([false, true, true]);
  });

  it('that has ended with its key gets nothing more of what was to be sent again, until an admin keeps it', async () => {
    const workspace = await newWorkspace();
    const { owner } = workspace;
    await createLine(app, workspace.id);
    const endpoints = [await startTestEndpoint(503), await startTestEndpoint(503)] as const;
    const key = await keyOf(owner, NARROW['that expires']);
    const lost = await registerWebhook(key.api, endpoints[0].url, { retries: 'standard' });
    await registerWebhook(owner, endpoints[1].url, { retries: 'standard' });
    await owner('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
    await eventually(async () => endpoints.every(({ received }) => received.length === 1));
    expect((await owner('DELETE', `/api/keys/${key.id}`)).status).toBe(200);
    await eventually(async () => endpoints[1].received.length === 2);
    expect(endpoints[0].received).toHaveLength(1);
    expect((await owner('PATCH', lost.path, { isActive: true })).status).toBe(200);
    await eventually(async () => endpoints[0].received.length === 2);
  });

  it('that failed and has ended with its key needs no attention', async () => {
    const workspace = await newWorkspace();
    const { owner } = workspace;
    await createLine(app, workspace.id);
    const key = await keyOf(owner, NARROW['that expires']);
    const failing = async () =>
      (await owner('GET', '/api/attention')).body.items
        .filter(({ kind }: { kind: string }) => kind === 'failing_webhooks')
        .map(({ count }: { count: number }) => count);
    for (const api of [key.api, owner]) await registerWebhook(api, (await startTestEndpoint(503)).url);
    await owner('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
    await eventually(async () => (await failing())[0] === 2);
    await owner('DELETE', `/api/keys/${key.id}`);
    expect(await failing()).toEqual([1]);
  });

  it('of a key that is rolled is passed on', async () => {
    const { owner } = await newWorkspace();
    const key = await keyOf(owner, { scopes: ['read', 'manage'] });
    const id = await made(key.api);
    const rolled = await owner('POST', `/api/keys/${key.id}/roll`, { overlapHours: 0 });
    expect(rolled.status).toBe(201);
    expect(await isActive(owner, id)).toBe(true);
    await owner('DELETE', `/api/keys/${rolled.body._id}`);
    expect(await isActive(owner, id)).toBe(false);
  });

  it('of an expiring key of an agency ends with the key, unless an admin keeps it', async () => {
    const agency = await createAgency(app);
    const session = { userId: agency.ownerId, organizationId: null, role: null };
    const agencyOwner = await sessionClient(app, session);
    const { body } = await agencyOwner('POST', '/api/agency/keys', { name: 'Import', expiresInDays: 1 });
    const byKey = apiClient(app.url, body.key);
    const client = await byKey('POST', '/api/agency/subaccounts', {
      name: 'Acme',
      timezone: 'Europe/Berlin',
    });
    const workspaceId = client.body.subAccount.idpOrgId;
    const owner = await sessionClient(app, { ...session, organizationId: workspaceId, role: 'org:admin' });
    const register = async (api: ApiClient): Promise<string> => {
      const hook = { name: 'All', url: 'https://hooks.example.com/a', events: ['line.down'] };
      return (await api('POST', '/api/agency/webhooks', { ...hook, workspaceId })).body.webhooks[0]._id;
    };
    const [lost, kept, ofOwner] = [await register(byKey), await register(byKey), await register(agencyOwner)];
    expect(await owner('PATCH', `/api/webhooks/${kept}`, { isActive: true })).toMatchObject({ status: 200 });
    const active = async () => Promise.all([lost, kept, ofOwner].map((id) => isActive(owner, id)));
    expect(await active()).toEqual([true, true, true]);
    const ended = await connected(app.ownerUrl, (database) =>
      database.query(`set app.migrating = 'on';
        with ending as (select id, ends_at from webhooks where workspace_id = '${workspaceId}' and ends_at is not null)
        update webhooks h set ends_at = now() from ending e where h.id = e.id returning h.id, e.ends_at`),
    );
    expect([ended].flat().at(-1)?.rows).toEqual([{ id: lost, ends_at: new Date(body.expiresAt) }]);
    expect(await active()).toEqual([false, true, true]);
  });

  it('of a key without limits stays, unless whoever revokes the key ends it', async () => {
    const { owner } = await newWorkspace();
    const revoked = async (query: string) => {
      const key = await keyOf(owner);
      const id = await made(key.api);
      const { body } = await owner('DELETE', `/api/keys/${key.id}${query}`);
      return [body.activeWebhooks, await isActive(owner, id)];
    };
    expect(await revoked('')).toEqual([1, true]);
    expect(await revoked('?endWebhooks=true')).toEqual([0, false]);
    const changes = (await owner('GET', '/api/audit-log')).body.entries
      .filter(({ action }: { action: string }) => action === 'key.revoked')
      .map((entry: { changes: object }) => entry.changes);
    expect(changes).toEqual([{ activeWebhooks: 0 }, { activeWebhooks: 1 }]);
  });

  it('of a person that a key without limits redirected ends with the key as well', async () => {
    const { owner } = await newWorkspace();
    const [{ id, api }, ofOwner] = [await keyOf(owner), await made(owner)];
    const url = 'https://elsewhere.example.com/';
    expect((await api('PATCH', `/api/webhooks/${ofOwner}`, { url, isActive: true })).status).toBe(200);
    await owner('DELETE', `/api/keys/${id}?endWebhooks=true`);
    expect(await isActive(owner, ofOwner)).toBe(false);
    // A person who activates it vouches for it.
    await owner('PATCH', `/api/webhooks/${ofOwner}`, { isActive: true });
    await owner('DELETE', `/api/keys/${id}?endWebhooks=true`);
    expect(await isActive(owner, ofOwner)).toBe(true);
  });

  it("of a removed member's keys ends if whoever removes them says so", async () => {
    const workspace = await newWorkspace();
    const userId = await addMember(workspace, 'org:admin');
    const leaver = await sessionClient(app, { userId, organizationId: workspace.id, role: 'org:admin' });
    const key = await keyOf(leaver);
    const [lost, ofOwner] = [await made(key.api), await made(workspace.owner)];
    const { body } = await workspace.owner('DELETE', `/api/team/${userId}?revokeKeys=true&endWebhooks=true`);
    expect(body).toMatchObject({ revokedKeys: 1, activeWebhooks: 0 });
    expect([await isActive(workspace.owner, lost), await isActive(workspace.owner, ofOwner)]).toEqual([
      false,
      true,
    ]);
  });

  it('of a key of an agency stays, unless the owner ends it with the key, in all clients', async () => {
    const agency = await createAgency(app);
    const clients = [
      await createWorkspace(app, { agency_id: agency.id }),
      await createWorkspace(app, { agency_id: agency.id }),
    ];
    const agencyOwner = await sessionClient(app, {
      userId: agency.ownerId,
      organizationId: null,
      role: null,
    });
    const revoked = async (query: string) => {
      const key = (await agencyOwner('POST', '/api/agency/keys', { name: 'Stolen' })).body;
      const hook = {
        name: 'All',
        url: 'https://hooks.example.com/a',
        events: ['line.down'],
        workspaceId: 'all',
      };
      const { webhooks } = (await apiClient(app.url, key.key)('POST', '/api/agency/webhooks', hook)).body;
      expect(webhooks).toHaveLength(clients.length);
      const { body } = await agencyOwner('DELETE', `/api/agency/keys/${key._id}${query}`);
      const all = (await agencyOwner('GET', '/api/agency/webhooks')).body.webhooks;
      const ids = webhooks.map(({ _id }: { _id: string }) => _id);
      const active = all.filter(
        ({ _id, isActive: delivers }: { _id: string; isActive: boolean }) => delivers && ids.includes(_id),
      );
      return [body.activeWebhooks, active.length];
    };
    expect(await revoked('')).toEqual([2, 2]);
    expect(await revoked('?endWebhooks=true')).toEqual([0, 0]);
  });
});
