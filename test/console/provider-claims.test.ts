import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test, vi } from 'vitest';
import { connected } from '#db/connection/connected.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { apiClient, type ApiClient } from '#test/support/client.ts';
import { createWorkspace, insertRow } from '#test/support/factories.ts';
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '#test/support/openid-provider.ts';
import { environment } from '#test/support/process.ts';
import { ops } from '#workers/ops.ts';
import { buildConsole, inaccessible, openTab, sharedBrowser, type Tab } from './browser.ts';

vi.setConfig({ testTimeout: 90_000 });

let app: OwnApp;
let provider: OpenIdProvider;
const tabs: Tab[] = [];

beforeAll(async () => {
  await buildConsole();
  const port = await freePort();
  app = await startTestApp({
    worker: false,
    environment: {
      AUTH_ISSUER: `http://127.0.0.1:${port}`,
      AUTH_CLIENT_ID: CLIENT.id,
      AUTH_CLIENT_SECRET: CLIENT.secret,
      AUTH_ORGANIZATION_CLAIM: 'organization',
      AUTH_ROLES_CLAIM: 'realm_access.roles',
      AUTH_ADMIN_ROLES: 'linepace-admin',
      AUTH_MEMBER_ROLES: 'linepace-member',
      AUTH_PROVISION_MEMBERS: '1',
      AUTH_CREATE_WORKSPACES: '1',
      FAILED_ATTEMPTS_PER_MINUTE: '1000',
    },
  });
  provider = await startOpenIdProvider(port, app.url);
});
afterAll(async () => {
  await Promise.all(tabs.map(({ page }) => page.context().close()));
  await provider.stop();
  await app.stop();
});

const ADMIN = { realm_access: { roles: ['offline_access', 'linepace-admin'] } };
const MEMBER = { realm_access: { roles: ['linepace-member'] } };

/** Signs in on the page of the provider, in a browser of its own. */
async function signIn(sub: string, claims: Record<string, unknown>, invitation?: string): Promise<Tab> {
  provider.accounts.set(sub, claims);
  const tab = await openTab(await sharedBrowser());
  tabs.push(tab);
  const { page } = tab;
  // The pages of the provider ask for a font.
  await page.route(/^https:/, (route) => route.fulfill({ body: '' }));
  if (invitation === undefined) await page.goto(`${app.url}/auth/sign-in`);
  else {
    await page.goto(invitation);
    await page.getByRole('link', { name: 'Sign in to accept' }).click();
  }
  await page.locator('input[name=login]').fill(sub);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  return tab;
}

const inConsole = (page: Page): Promise<void> => page.getByRole('button', { name: /Account/ }).waitFor();

/** How often the provider has failed. */
async function failedCalls(): Promise<number> {
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  return Number(/identity_provider_calls_total\{outcome="failed"\} (\d+)/.exec(metrics)?.[1] ?? 0);
}

/** A client with the session of the browser. */
async function clientOf(page: Page): Promise<ApiClient> {
  const cookies = await page.context().cookies(app.url);
  const cookie = `linepace-session=${cookies.find(({ name }) => name === 'linepace-session')?.value}`;
  const options = await fetch(`${app.url}/auth/session`, { headers: { cookie } });
  const { sessionId } = (await options.json()) as { sessionId: string };
  return (method, path, body) =>
    apiClient(app.url, '')(method, path, body, { cookie, 'x-console-session': sessionId });
}

async function signedIn(sub: string, claims: Record<string, unknown>): Promise<ApiClient> {
  const { page, takeProblems } = await signIn(sub, claims);
  await inConsole(page);
  expect(takeProblems()).toEqual([]);
  return clientOf(page);
}

const memberOf = async (api: ApiClient, userId: string) =>
  (await api('GET', '/api/team')).body.members.find((member: { userId: string }) => member.userId === userId);

describe('people who sign in', () => {
  it('have the name and the verified address that the provider gives, refreshed at each sign-in and renewal', async () => {
    const workspace = await createWorkspace(app);
    const { ownerId } = workspace;
    const address = `ada-${newId()}@example.test`;
    const api = await signedIn(ownerId, { name: 'Ada', email: address, email_verified: true });
    expect(await memberOf(api, ownerId)).toMatchObject({ name: 'Ada', email: address });
    await signedIn(ownerId, {
      name: 'Ada Lovelace',
      email: 'unverified@example.test',
      email_verified: false,
    });
    expect(await memberOf(api, ownerId)).toMatchObject({ name: 'Ada Lovelace', email: address });
    provider.accounts.set(ownerId, { name: 'Ada King', email: `new-${address}`, email_verified: true });
    await connected(app.ownerUrl, (client) =>
      client.query(
        `set app.migrating = 'on'; update user_sessions set renew_at = now() where user_id = '${ownerId}'`,
      ),
    );
    expect((await api('GET', '/api/workspace')).status).toBe(200);
    expect(await memberOf(api, ownerId)).toMatchObject({ name: 'Ada King', email: `new-${address}` });
    // Another user's address.
    const other = await createWorkspace(app);
    const claims = { name: 'Eve', email: `new-${address}`, email_verified: true };
    const otherApi = await signedIn(other.ownerId, claims);
    const { email, name } = await memberOf(otherApi, other.ownerId);
    expect([name, email === claims.email]).toEqual(['Eve', false]);
  });

  it('are the user who was created with their verified address, and nobody else', async () => {
    const workspace = await createWorkspace(app);
    const address = `owner-${newId()}@example.test`;
    await connected(app.ownerUrl, (client) =>
      client.query('update users set email = $1 where id = $2', [address, workspace.ownerId]),
    );
    const unverified = await signIn(newUserId(), { email: address, email_verified: false });
    await unverified.page.getByRole('heading', { name: 'You are not a member of a workspace' }).waitFor();
    const api = await signedIn(newUserId(), { email: address, email_verified: true });
    expect((await api('GET', '/api/workspace')).body).toMatchObject({
      workspace: { _id: workspace.id },
      caller: { role: 'org:admin' },
    });
    // The user has an account at the provider now.
    const second = await signIn(newUserId(), { email: address, email_verified: true });
    await second.page.getByRole('heading', { name: 'You are not a member of a workspace' }).waitFor();
  });
});

test('the owner of an agency without a client creates the first one on the page after signing in', async () => {
  const args = ['create-agency', `Group ${newId()}`, '--owner', `${newId()}@example.test`, '--by', 'Dana'];
  const { stdout } = await ops(args, {
    ...environment(app.config),
    PUBLIC_URL: app.url,
    AUTH_CLIENT_ID: CLIENT.id,
    AUTH_ISSUER: provider.issuer,
  });
  const { link } = JSON.parse(stdout) as { link: string };
  const { page, takeProblems } = await signIn(newUserId(), { name: 'Olga' }, link);
  await page.getByRole('button', { name: 'Accept' }).click();
  await page.getByRole('link', { name: /console/i }).click();
  await page.getByRole('heading', { name: 'Your first client' }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByLabel('Name of the client').fill('Harbour Homes');
  await page.getByLabel('Time zone').selectOption('America/New_York');
  await page.getByLabel('Country').fill('US');
  await page.getByRole('button', { name: 'Create the client' }).click();
  await inConsole(page);
  await page.getByText('Harbour Homes').first().waitFor();
  const api = await clientOf(page);
  expect((await api('GET', '/api/workspace')).body).toMatchObject({ workspace: { name: 'Harbour Homes' } });
  expect(takeProblems()).toEqual([]);
});

describe('organizations and roles from configured claims', () => {
  it('lead to the workspace that is linked to the organization, whose members the provider names', async () => {
    const workspace = await createWorkspace(app);
    const name = `acme-${newId()}`;
    const args = ['link-organization', workspace.id, '--organization', name, '--by', 'Dana'];
    const environment = {
      DATABASE_URL: app.config.database.tenantUrl,
      DATABASE_SYSTEM_URL: app.config.database.systemUrl,
    };
    expect(await ops(args, environment)).toMatchObject({ status: 0 });
    const user = newUserId();
    const api = await signedIn(user, { organization: ['unknown', name], ...MEMBER });
    expect((await api('GET', '/api/workspace')).body).toMatchObject({
      workspace: { _id: workspace.id },
      caller: { role: 'org:member' },
    });
    expect(await memberOf(api, user)).toMatchObject({ role: 'org:member', isOwner: false });
    const promoted = await signedIn(user, { organization: { [name]: { id: newId() } }, ...ADMIN });
    expect(await memberOf(promoted, user)).toMatchObject({ role: 'org:admin', isOwner: false });
    const log = (await promoted('GET', '/api/audit-log')).body.entries;
    expect(log.map(({ action }: { action: string }) => action)).toEqual([
      'session.started',
      'member.updated',
      'session.started',
      'member.joined',
      'workspace.updated',
    ]);
  });

  it('let the first admin create the workspace of an organization, of which others become members', async () => {
    const id = newId();
    const organization = { 'Brightside Ltd': { id } };
    const early = await signIn(newUserId(), { organization, ...MEMBER });
    await early.page.getByRole('heading', { name: 'Your organization has no workspace here' }).waitFor();
    await early.page.getByText('Brightside Ltd').waitFor();
    expect(await inaccessible(early.page)).toEqual([]);
    const [owner, other] = [newUserId(), newUserId()];
    const api = await signedIn(owner, { organization, ...ADMIN });
    const { workspace } = (await api('GET', '/api/workspace')).body;
    expect(workspace.name).toBe('Brightside Ltd');
    expect(await memberOf(api, owner)).toMatchObject({ role: 'org:admin', isOwner: true });
    const renamed = await signedIn(other, { organization: { Brighter: { id } }, ...ADMIN });
    expect((await renamed('GET', '/api/workspace')).body.workspace._id).toBe(workspace._id);
    expect(await memberOf(renamed, other)).toMatchObject({ role: 'org:admin', isOwner: false });
  });

  it('refuse who has none of the roles, and who was removed', async () => {
    const workspace = await createWorkspace(app);
    const user = newUserId();
    const organization = workspace.id;
    const stranger = await signIn(user, { organization, realm_access: { roles: ['other'] } });
    await stranger.page.getByRole('heading', { name: 'You have no role here' }).waitFor();
    await insertRow(app, 'former_members', { workspace_id: workspace.id, user_id: user });
    const removed = await signIn(user, { organization, ...MEMBER });
    await removed.page.getByRole('heading', { name: 'You are not a member of a workspace' }).waitFor();
  });
});

describe('a provider that refuses', () => {
  it('offline access is asked without it', async () => {
    const workspace = await createWorkspace(app);
    provider.refusesOffline = true;
    const api = await signedIn(workspace.ownerId, {});
    provider.refusesOffline = false;
    expect((await api('GET', '/api/workspace')).status).toBe(200);
  });

  it('the client is shown with what it says, and one that does not answer as such', async () => {
    const [workspace, before] = [await createWorkspace(app), await failedCalls()];
    provider.tokenError = { error: 'unauthorized_client', error_description: 'Invalid client credentials' };
    const { page, takeProblems } = await signIn(workspace.ownerId, {});
    await page.getByText('unauthorized_client: Invalid client credentials').waitFor();
    expect(takeProblems()).toEqual([expect.stringContaining('502')]);
    expect(await inaccessible(page)).toEqual([]);
    provider.tokenError = null;
    await page.goto(`${app.url}/auth/sign-in`);
    await inConsole(page);
    expect((await failedCalls()) - before).toBe(1);
  });

  it('does not answer: a page for people, and JSON for programs', async () => {
    const port = await freePort();
    const own = await startTestApp({
      worker: false,
      environment: { AUTH_ISSUER: `http://127.0.0.1:${port}`, AUTH_CLIENT_ID: CLIENT.id },
    });
    const ask = (accept: string) =>
      fetch(`${own.url}/auth/sign-in`, { headers: { accept }, redirect: 'manual' });
    const [page, json] = [await ask('text/html,*/*'), await ask('application/json')];
    expect([page.status, page.headers.has('retry-after')]).toEqual([503, true]);
    expect(await page.text()).toContain('The identity provider does not answer');
    expect([json.status, json.headers.has('retry-after')]).toEqual([503, true]);
    expect(await json.json()).toMatchObject({ code: 'UNAVAILABLE' });
    await own.stop();
  });
});
