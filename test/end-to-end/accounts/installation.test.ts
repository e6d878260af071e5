import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { type RunningApi, startApi } from '#api/server.ts';
import { newToken } from '#api/routes/accounts/team-invitations.ts';
import { connected } from '#db/connection/connected.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { upsertInvitation } from '#db/queries/accounts/invitations.ts';
import { newApiKey } from '#domain/accounts/api-key.ts';
import { eventually, type OwnApp, sharedApp } from '#test/support/app.ts';
import { type ApiClient, type ApiResponse, apiClient } from '#test/support/client.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import { startProductionApp } from '#test/support/production.ts';
import { ops } from '#workers/ops.ts';

/** What the owner enters. */
const TENANT = {
  workspaceName: 'Harbour Homes',
  timezone: 'Europe/Madrid',
  owner: { email: 'Olivia@Harbour.example', firstName: 'Olivia', lastName: 'Owner' },
};

let app: OwnApp;
let anybody: ApiClient;

/** A production database without an owner. */
async function start(): Promise<void> {
  app = await startProductionApp({}, { worker: false });
  anybody = apiClient(app.url, '');
}

const environment = ({ config } = app) => ({
  DATABASE_URL: config.database.tenantUrl,
  DATABASE_SYSTEM_URL: config.database.systemUrl,
  TEMPORAL_ADDRESS: config.temporal.address,
  TEMPORAL_NAMESPACE: config.temporal.namespace,
});

/** A new code of the command line. */
async function newCode(): Promise<string> {
  const { status, stdout } = await ops(['setup-code'], environment());
  expect(status).toBe(0);
  return (JSON.parse(stdout) as { code: string }).code;
}

const setUp = (code: string, changes: object = {}, to = anybody): Promise<ApiResponse> =>
  to('POST', '/api/setup', { code, ...TENANT, ...changes });

const readiness = async (url = app.url): Promise<unknown> =>
  ((await (await fetch(`${url}/readyz`)).json()) as { setup?: string }).setup;

describe('a production database without an owner', () => {
  beforeAll(start);
  afterAll(() => app.stop());

  it('is ready, and waits to be set up', async () => {
    await eventually(async () => (await readiness()) === 'needed');
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
    expect((await anybody('GET', '/auth/session')).body).toEqual({ method: 'setup', sessionId: null });
  });

  it('refuses every credential', async () => {
    for (const credential of [newApiKey('workspace').key, newApiKey('agency').key, 'a'.repeat(43)])
      expect(await apiClient(app.url, credential)('GET', '/api/workspace')).toMatchObject({ status: 401 });
  });

  it('refuses a wrong code, an old one and one that has expired, and names what is missing', async () => {
    expect(await setUp('guess')).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } });
    const old = await newCode();
    const code = await newCode();
    expect(await setUp(old)).toMatchObject({ status: 401 });
    const faulty = await setUp(code, {
      workspaceName: ' ',
      timezone: 'Mars/Base',
      owner: { email: 'olivia' },
    });
    expect(faulty.body.issues.map(({ path }: { path: string }) => path)).toEqual([
      'workspaceName',
      'timezone',
      'owner.email',
    ]);
    expect((await setUp(code, { timezone: undefined })).body.issues).toMatchObject([{ path: 'timezone' }]);
    await connected(app.config.database.systemUrl, (client) =>
      client.query(`update setup_codes set expires_at = now()`),
    );
    expect(await setUp(code)).toMatchObject({ status: 401 });
  });

  it('stores no code in clear', async () => {
    const code = await newCode();
    const stored = await connected(app.config.database.systemUrl, (client) =>
      client.query(
        'select c::text as row, expires_at - now() <= interval $$1 hour$$ as fits from setup_codes c',
      ),
    );
    expect(Buffer.from(code, 'base64url')).toHaveLength(32);
    expect(stored.rows).toEqual([{ row: expect.not.stringContaining(code), fits: true }]);
  });

  it('is set up by the first of two people, who is signed in as its owner', async () => {
    const code = await newCode();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => setUp(code, { workspaceName: `Workspace ${index}` })),
    );
    const made = answers.find(({ status }) => status === 201);
    const late = answers.filter((answer) => answer !== made);
    if (!made) throw new Error('nobody has set it up');
    expect(late.map(({ status, body }) => [status, body.code])).toEqual(
      Array.from({ length: 5 }, () => [409, 'ALREADY_SET_UP']),
    );
    expect(made).toMatchObject({ status: 201, body: { success: true, agencyId: null } });
    const { workspaceId, userId, token, expiresAt } = made.body;
    expect(made.headers.get('cache-control')).toBe('no-store');
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());

    const owner = apiClient(app.url, token);
    expect((await owner('GET', '/api/workspace')).body).toMatchObject({
      workspace: { _id: workspaceId, timezone: TENANT.timezone, country: 'US', billingMode: 'none' },
      caller: { type: 'user', id: userId, name: 'Olivia Owner' },
    });
    expect((await owner('GET', '/api/team')).body.members).toMatchObject([
      { userId, email: 'olivia@harbour.example', role: 'org:admin', isOwner: true },
    ]);
    expect(
      (await owner('GET', '/api/audit-log')).body.entries.map(({ action }: { action: string }) => action),
    ).toEqual(expect.arrayContaining(['workspace.created', 'session.started']));
    expect((await owner('POST', '/api/keys', { name: 'First' })).status).toBe(201);

    expect(await setUp(code)).toMatchObject({ status: 409, body: { code: 'ALREADY_SET_UP' } });
    expect(await setUp('guess')).toMatchObject({ status: 409 });
    await eventually(async () => (await readiness()) === undefined);
    expect((await anybody('GET', '/auth/session')).body).toMatchObject({ method: 'email' });
    const { status, stderr } = await ops(['setup-code'], environment());
    expect([status, JSON.parse(stderr).code]).toEqual([1, 'ALREADY_SET_UP']);
  });

  it('stays set up for processes that start later', async () => {
    const later = await startApi({ ...app.config, port: 0 });
    onTestFinished(() => later.stop());
    expect(await readiness(later.url)).toBeUndefined();
    expect(await setUp('guess', {}, apiClient(later.url, ''))).toMatchObject({ status: 409 });
  });

  it('gives the owner a session that can be ended', async () => {
    const code = await connected(app.config.database.systemUrl, async (client) => {
      await client.query('delete from workspace_members');
      return newCode();
    });
    const { token } = (await setUp(code)).body;
    const owner = apiClient(app.url, token);
    const { sessions } = (await owner('GET', '/api/sessions')).body;
    for (const { _id } of sessions) await owner('DELETE', `/api/sessions/${_id}`);
    expect((await owner('GET', '/api/workspace')).status).toBe(401);
  });
});

describe('the setup of an agency', () => {
  let second: RunningApi;
  beforeAll(async () => {
    await start();
    second = await startApi({ ...app.config, port: 0 });
  });
  afterAll(async () => {
    await second.stop();
    await app.stop();
  });

  it('makes its owner, whose clients need no plan', async () => {
    const { status, body } = await setUp(
      await newCode(),
      { agencyName: 'Harbour Group' },
      apiClient(second.url, ''),
    );
    expect(status).toBe(201);
    const owner = apiClient(app.url, body.token);
    expect((await owner('GET', '/api/agency/billing')).body).toMatchObject({ billingMode: 'none' });
    const made = await owner('POST', '/api/agency/subaccounts', { name: 'Client' });
    expect(made.body.subAccount).toMatchObject({ billingMode: 'none', plan: null });
    const workspaceId = made.body.subAccount.idpOrgId;
    expect(
      await owner('POST', '/api/agency/billing/subscribe', { workspaceId, plan: 'growth' }),
    ).toMatchObject({ status: 409, body: { code: 'BILLING_DISABLED' } });
    expect(
      await owner('POST', '/api/agency/billing/card', { returnUrl: 'https://harbour.example' }),
    ).toMatchObject({ status: 409, body: { code: 'BILLING_DISABLED' } });
    const list = await owner('GET', '/api/agency/audit-log');
    expect(list.body.entries.map(({ action }: { action: string }) => action)).toContain('workspace.created');

    // People who sign in by email have no token to enter, and before they accept no account either.
    const { token, tokenHash } = newToken();
    const invitation = { email: 'casey@harbour.example', role: null, tokenHash, userId: null, keyId: null };
    await upsertInvitation(
      { db: systemDb(app.pools), agencyId: body.agencyId },
      { ...invitation, now: new Date() },
    );
    const page = await fetch(`${app.url}/invitations/${token}`);
    expect(await page.text()).not.toContain('sessionToken');
    const accepted = await fetch(`${app.url}/invitations/${token}`, { method: 'POST' });
    expect([accepted.status, await accepted.text()]).toEqual([200, expect.stringContaining('/console')]);
    expect((await owner('GET', '/api/agency/admins')).body.admins).toMatchObject([
      { email: invitation.email, role: 'co_admin' },
    ]);
    const again = await fetch(`${app.url}/invitations/${token}`, { method: 'POST' });
    expect(again.status).toBe(200);
    expect((await owner('GET', '/api/agency/admins')).body.admins).toHaveLength(1);
  });
});

test('a restored backup is set up already', async () => {
  const lost = await createTestDatabase();
  const own = await startProductionApp({}, { worker: false });
  onTestFinished(() => own.stop());
  const startOn = ({ tenantUrl, systemUrl, directUrl }: TestDatabase) =>
    startApi({
      ...own.config,
      port: 0,
      database: { tenantUrl, systemUrl, replicaUrl: null, listenUrl: directUrl },
    });
  const first = await startOn(lost);
  const { stdout } = await ops(['setup-code'], {
    ...environment(own),
    DATABASE_URL: lost.tenantUrl,
    DATABASE_SYSTEM_URL: lost.systemUrl,
  });
  const { code } = JSON.parse(stdout) as { code: string };
  const { body } = await setUp(code, {}, apiClient(first.url, ''));
  await first.stop();

  const restored = await createTestDatabase(new URL(lost.ownerUrl).pathname.slice(1));
  await lost.drop();
  const second = await startOn(restored);
  onTestFinished(async () => {
    await second.stop();
    await restored.drop();
  });
  expect(await readiness(second.url)).toBeUndefined();
  expect(await setUp(code, {}, apiClient(second.url, ''))).toMatchObject({
    status: 409,
    body: { code: 'ALREADY_SET_UP' },
  });
  const owner = apiClient(second.url, body.token);
  expect((await owner('GET', '/api/workspace')).body.workspace._id).toBe(body.workspaceId);
});

test('wrong codes are counted by the address of the client', async () => {
  const own = await startProductionApp({ FAILED_ATTEMPTS_PER_MINUTE: '3' }, { worker: false });
  onTestFinished(() => own.stop());
  const answers: number[] = [];
  for (let index = 0; index < 5; index += 1)
    answers.push((await setUp(`guess ${index}`, {}, apiClient(own.url, ''))).status);
  expect(answers).toEqual([401, 401, 401, 429, 429]);
});

test('only production waits to be set up', async () => {
  const local = await sharedApp({ worker: false });
  await createWorkspace(local);
  expect(await readiness(local.url)).toBeUndefined();
  expect((await apiClient(local.url, '')('GET', '/auth/session')).body).toMatchObject({
    method: 'credential',
  });
});
