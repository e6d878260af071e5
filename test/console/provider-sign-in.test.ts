import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { hashToken } from '#api/routes/accounts/team-invitations.ts';
import { type RunningApi, startApi } from '#api/server.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { openEventStream } from '#test/support/event-stream.ts';
import { createAgency, createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '#test/support/openid-provider.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { connected } from '#db/connection/connected.ts';
import { buildConsole, inaccessible, openTab, sharedBrowser, type Tab } from './browser.ts';

vi.setConfig({ testTimeout: 90_000 });

let app: OwnApp;
/** Another process of the same product. */
let second: RunningApi;
let provider: OpenIdProvider;
let workspace: TestWorkspace;
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
      FAILED_ATTEMPTS_PER_MINUTE: '1000',
    },
  });
  [second, provider] = await Promise.all([
    startApi({ ...app.config, port: 0 }),
    startOpenIdProvider(port, app.url),
  ]);
});
beforeEach(async () => {
  workspace = await createWorkspace(app, { name: 'Harbour Homes' });
  provider.accounts.set(workspace.ownerId, {});
});
afterAll(async () => {
  await Promise.all(tabs.map(({ page }) => page.context().close()));
  await Promise.all([second.stop(), provider.stop()]);
  await app.stop();
});

/** A browser of its own. */
async function newBrowser(): Promise<Tab> {
  const tab = await openTab(await sharedBrowser());
  tabs.push(tab);
  // The pages of the provider ask for a font.
  await tab.page.route(/^https:/, (route) => route.fulfill({ body: '' }));
  return tab;
}

/** Signs in on the page of the provider. */
async function signInAt(page: Page, sub: string): Promise<void> {
  await page.locator('input[name=login]').fill(sub);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
}

/** A browser in which the user has signed in to the console. */
async function signedIn(sub: string, path = '/console'): Promise<Tab> {
  const tab = await newBrowser();
  await tab.page.goto(`${app.url}/auth/sign-in?returnTo=${encodeURIComponent(path)}`);
  await signInAt(tab.page, sub);
  await tab.page.getByRole('button', { name: /Account/ }).waitFor();
  return tab;
}

/** The address to which the provider has led back, which nobody has used, and the cookie of its attempt. */
async function answered(sub: string): Promise<{ answer: string; cookie: string }> {
  const { page, takeProblems } = await newBrowser();
  await page.goto(`${app.url}/auth/sign-in`);
  const [attempt] = await page.context().cookies(app.url);
  expect(attempt).toMatchObject({ name: 'linepace-sign-in', httpOnly: true, sameSite: 'Lax' });
  await page.context().clearCookies({ name: 'linepace-sign-in' });
  await signInAt(page, sub);
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  expect(takeProblems()).toEqual([expect.stringContaining('400')]);
  return { answer: page.url(), cookie: `linepace-sign-in=${attempt?.value}` };
}

interface Held {
  cookie: string;
  id: string;
}

/** What the browser sends with requests of the console. */
async function sessionIn(context: BrowserContext): Promise<Held> {
  const cookies = await context.cookies(app.url);
  return sessionOf(`linepace-session=${cookies.find(({ name }) => name === 'linepace-session')?.value}`);
}

/** @param setCookie as the response sets it. */
async function sessionOf(setCookie = ''): Promise<Held> {
  const [cookie = ''] = setCookie.split(';');
  const options = await fetch(`${app.url}/auth/session`, { headers: { cookie } });
  const { sessionId } = (await options.json()) as { sessionId: string };
  return { cookie, id: sessionId };
}

/** A client that sends what the browser does. */
const clientOf =
  ({ cookie, id }: Held, url = app.url): ApiClient =>
  (method, path, body, headers = {}) =>
    apiClient(url, '')(method, path, body, { cookie, 'x-console-session': id, ...headers });

const statusOf = async (held: Held, url = app.url): Promise<number> =>
  (await clientOf(held, url)('GET', '/api/workspace')).status;

const change = (id: string, columns: string): Promise<unknown> =>
  connected(app.ownerUrl, (client) =>
    client.query(`set app.migrating = 'on'; update user_sessions set ${columns} where id = '${id}'`),
  );

const logOf = async ({ id, ownerId }: TestWorkspace, action: string) => {
  const owner = await sessionClient(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
  return (await owner('GET', `/api/audit-log?action=${action}`)).body.entries;
};

describe('signing in at the identity provider', () => {
  it('uses PKCE, a state and a nonce, and leads back to the page that was asked for', async () => {
    const { page, takeProblems } = await newBrowser();
    await page.goto(`${app.url}/console/webhooks`);
    const link = page.getByRole('link', { name: 'Sign in' });
    await link.waitFor();
    expect(await page.getByLabel('Workspace key').count()).toBe(0);
    expect(await inaccessible(page)).toEqual([]);
    const asked = page.waitForRequest((request) => request.url().startsWith(`${provider.issuer}/auth?`));
    await link.click();
    const query = new URL((await asked).url()).searchParams;
    expect(Object.fromEntries(query)).toEqual({
      client_id: CLIENT.id,
      response_type: 'code',
      redirect_uri: `${app.url}/auth/callback`,
      scope: 'openid profile email offline_access',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{20,}$/),
      nonce: expect.stringMatching(/^[\w-]{20,}$/),
    });
    await signInAt(page, workspace.ownerId);
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
    expect(page.url()).toBe(`${app.url}/console/webhooks`);
    const cookies = await page.context().cookies(app.url);
    expect(cookies).toEqual([
      expect.objectContaining({ name: 'linepace-session', httpOnly: true, sameSite: 'Strict', path: '/' }),
    ]);
    // No script of the page reaches a credential.
    const reachable = await page.evaluate(
      'document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)',
    );
    expect(reachable).not.toContain(cookies[0]?.value);
    expect(reachable).not.toContain('eyJ');
    // As in another tab of the browser.
    await page.evaluate('sessionStorage.clear()');
    await page.goto(`${app.url}/console`);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(takeProblems()).toEqual([]);
    expect(await logOf(workspace, 'session.started')).toMatchObject([
      { actor: { type: 'user', id: workspace.ownerId }, channel: 'session', target: { type: 'session' } },
    ]);
  });

  it('ends on signing out, here and at the provider', async () => {
    const { page, takeProblems } = await signedIn(workspace.ownerId);
    const held = await sessionIn(page.context());
    expect(await statusOf(held)).toBe(200);
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console');
    expect(await page.context().cookies(app.url)).toEqual([]);
    expect(await Promise.all([statusOf(held), statusOf(held, second.url)])).toEqual([401, 401]);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.locator('input[name=login]').waitFor();
    expect(takeProblems()).toEqual([]);
    expect(await logOf(workspace, 'session.ended')).toMatchObject([
      { actor: { id: workspace.ownerId }, target: { id: held.id }, changes: { reason: 'signed_out' } },
    ]);
  });

  it('takes the place of the session that the browser has', async () => {
    const { page } = await signedIn(workspace.ownerId);
    const first = await sessionIn(page.context());
    // As by the address bar or a link of the console.
    await page.goto(`${app.url}/auth/sign-in`);
    await eventually(async () => (await sessionIn(page.context())).id !== first.id);
    expect(await statusOf(first)).toBe(401);
    expect(await logOf(workspace, 'session.ended')).toMatchObject([
      { target: { id: first.id }, changes: { reason: 'replaced' } },
    ]);
  });

  it('leads to pages of the product only', async () => {
    const { page } = await newBrowser();
    await page.goto(`${app.url}/auth/sign-in?returnTo=${encodeURIComponent('//evil.example/console')}`);
    await signInAt(page, workspace.ownerId);
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(page.url()).toBe(`${app.url}/console`);
  });

  it('refuses an answer without its attempt, of another attempt, of another issuer, or a second time', async () => {
    const { answer, cookie } = await answered(workspace.ownerId);
    const other = await fetch(`${app.url}/auth/sign-in`, { redirect: 'manual' });
    const otherCookie = /^[^;]+/.exec(other.headers.get('set-cookie') ?? '')?.[0] ?? '';
    const call = async (url: string, headers: Record<string, string>) => {
      const response = await fetch(url, { headers, redirect: 'manual' });
      const session = response.headers.getSetCookie().some((text) => text.startsWith('linepace-session='));
      return [response.status, session];
    };
    const foreign = new URL(answer);
    foreign.searchParams.set('iss', 'https://evil.example');
    const refused = [400, false];
    expect(await call(answer, {})).toEqual(refused);
    expect(await call(answer, { cookie: `${cookie}x` })).toEqual(refused);
    expect(await call(answer, { cookie: otherCookie })).toEqual(refused);
    expect(await call(foreign.href, { cookie })).toEqual(refused);
    expect(await call(`${app.url}/auth/callback?error=access_denied&state=x`, { cookie })).toEqual(refused);
    expect(await call(answer, { cookie })).toEqual([302, true]);
    expect(await call(answer, { cookie })).toEqual(refused);
  });

  it('lets nobody in who belongs to no workspace, until they accept an invitation', async () => {
    const stranger = 'idp|6f0c';
    provider.accounts.set(stranger, { email: 'noor@example.test' });
    const { page, takeProblems } = await newBrowser();
    await page.goto(`${app.url}/auth/sign-in`);
    await signInAt(page, stranger);
    await page.getByRole('heading', { name: 'You are not a member of a workspace' }).waitFor();
    expect(await page.context().cookies(app.url)).toEqual([]);
    expect(takeProblems()).toEqual([expect.stringContaining('403')]);

    const token = await invite('noor@example.test');
    await page.goto(`${app.url}/invitations/${token}`);
    await page.getByRole('link', { name: 'Sign in to accept' }).click();
    await page.getByRole('button', { name: 'Accept the invitation' }).click();
    await page.getByRole('heading', { name: 'You are a member of Harbour Homes' }).waitFor();
    await page.getByRole('link', { name: 'Open the console' }).click();
    await page.getByText('Harbour Homes').first().waitFor();
    expect(takeProblems()).toEqual([]);
    const [, member] = (await workspace.api('GET', '/api/team')).body.members;
    expect(member).toMatchObject({ userId: stranger, role: 'org:member' });
  });

  it('gives the role that the provider names, and never more than the membership', async () => {
    provider.accounts.set(workspace.ownerId, { org_id: workspace.id, org_role: 'org:member' });
    const { page } = await signedIn(workspace.ownerId);
    const api = clientOf(await sessionIn(page.context()));
    expect((await api('GET', '/api/workspace')).body.caller.role).toBe('org:member');
    expect((await api('GET', '/api/keys')).body.code).toBe('ADMIN_REQUIRED');
    const admin = newUserId();
    provider.accounts.set(admin, { org_id: workspace.id, org_role: 'org:admin' });
    const joined = await signedIn(admin);
    const joinedApi = clientOf(await sessionIn(joined.page.context()));
    expect((await joinedApi('GET', '/api/keys')).status).toBe(200);
    const foreign = newUserId();
    provider.accounts.set(foreign, { org_id: workspace.id, org_role: 'org:member' });
    const refused = await newBrowser();
    await refused.page.goto(`${app.url}/auth/sign-in`);
    await signInAt(refused.page, foreign);
    await refused.page.getByRole('heading', { name: 'You are not a member of a workspace' }).waitFor();
  });

  it('opens each workspace of a user whose provider names none, and the clients of their agency', async () => {
    const agency = await createAgency(app);
    const client = await createWorkspace(app, { agency_id: agency.id, name: 'Client' });
    const [joined, foreign] = await Promise.all([
      createWorkspace(app, { name: 'Second Street' }),
      createWorkspace(app),
    ]);
    const { ownerId: user_id } = workspace;
    await insertRow(app, 'workspace_members', { workspace_id: joined.id, user_id, role: 'org:member' });
    const { page, takeProblems } = await signedIn(user_id);
    const api = clientOf(await sessionIn(page.context()));
    await page.getByRole('button', { name: 'Workspace: Harbour Homes' }).click();
    await page.getByRole('menuitem', { name: 'Second Street' }).click();
    await page.getByRole('button', { name: 'Workspace: Second Street' }).waitFor();
    expect(takeProblems()).toEqual([]);
    const seen = async (id: string) => {
      const { status, body } = await api('GET', '/api/workspace', undefined, { 'x-workspace-id': id });
      return [status, body.workspace?._id, body.caller?.role];
    };
    expect((await api('GET', '/api/workspace')).body.workspace._id).toBe(workspace.id);
    expect(await seen(joined.id)).toEqual([200, joined.id, 'org:member']);
    expect(await seen(foreign.id)).toEqual([404, undefined, undefined]);
    provider.accounts.set(agency.ownerId, {});
    const owner = await signedIn(agency.ownerId);
    const ownerApi = clientOf(await sessionIn(owner.page.context()));
    expect((await ownerApi('GET', '/api/workspace')).body.workspace._id).toBe(client.id);
    expect((await ownerApi('GET', '/api/agency/subaccounts')).status).toBe(200);
    await connected(app.ownerUrl, (sql) =>
      sql.query(`set app.migrating = 'on'; update workspaces set agency_id = null where id = '${client.id}'`),
    );
    expect((await ownerApi('GET', '/api/workspace')).status).toBe(401);
  });
});

/** @returns the token in the link of an invitation that was sent by email. */
async function invite(email: string): Promise<string> {
  const token = `token-${newUserId()}`;
  await insertRow(app, 'invitations', {
    workspace_id: workspace.id,
    id: newId(),
    email,
    role: 'org:member',
    token_hash: hashToken(token),
    expires_at: new Date(Date.now() + 3_600_000),
  });
  return token;
}

describe('a session', () => {
  it('counts only with its id in a header, which no other site can send', async () => {
    const { page } = await signedIn(workspace.ownerId);
    const held = await sessionIn(page.context());
    const { cookie } = held;
    const send = async (headers: Record<string, string>) =>
      (await apiClient(app.url, '')('POST', '/api/snippets', { name: 'A', text: 'B' }, headers)).status;
    expect(await send({ cookie })).toBe(401);
    expect(await send({ cookie, 'x-console-session': newId() })).toBe(401);
    expect(await send({ 'x-console-session': held.id })).toBe(401);
    const preflight = await fetch(`${app.url}/api/snippets`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-console-session',
      },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
    expect(await send({ cookie, 'x-console-session': held.id })).toBe(201);
    // A key in the same request is what counts.
    const key = { authorization: `Bearer ${workspace.key}`, cookie, 'x-console-session': held.id };
    expect((await apiClient(app.url, '')('GET', '/api/workspace', undefined, key)).body.caller.type).toBe(
      'key',
    );
  });

  it('is listed in the settings, and ended there in every process at once', async () => {
    const [here, there] = await Promise.all([signedIn(workspace.ownerId), signedIn(workspace.ownerId)]);
    const held = await sessionIn(there.page.context());
    const stream = await openEventStream(second.url, '', {
      headers: { cookie: held.cookie, 'x-console-session': held.id },
    });
    await here.page.goto(`${app.url}/console/settings?tab=sessions`);
    const list = here.page.getByRole('list', { name: 'Sessions' });
    await list.getByText('This browser').waitFor();
    expect(await list.getByRole('listitem').count()).toBe(2);
    expect(await inaccessible(here.page)).toEqual([]);
    await list.getByRole('button', { name: /^End the session: You, Chrome/ }).click();
    await here.page.getByText('The session was ended').waitFor();
    expect(await Promise.all([statusOf(held), statusOf(held, second.url)])).toEqual([401, 401]);
    await eventually(async () => stream.isClosed());
    await there.page.reload();
    await there.page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await list.getByRole('listitem').count()).toBe(1);
    expect(await logOf(workspace, 'session.ended')).toMatchObject([
      { target: { id: held.id }, changes: { userId: workspace.ownerId, reason: 'ended' } },
    ]);
  });

  it('can be ended by admins of the workspace, and by nobody else but its user', async () => {
    const member = newUserId();
    await insertRow(app, 'users', { id: member, email: `${member}@example.test` });
    await insertRow(app, 'workspace_members', {
      workspace_id: workspace.id,
      user_id: member,
      role: 'org:member',
    });
    provider.accounts.set(member, {});
    const other = await createWorkspace(app);
    const [ofOwner, ofMember] = await Promise.all([signedIn(workspace.ownerId), signedIn(member)]);
    const [owner, own] = await Promise.all([
      sessionIn(ofOwner.page.context()),
      sessionIn(ofMember.page.context()),
    ]);
    const stranger = await sessionClient(app, {
      userId: other.ownerId,
      organizationId: other.id,
      role: 'org:admin',
    });
    const idsSeen = async (api: ApiClient) =>
      (await api('GET', '/api/sessions')).body.sessions.map(({ _id }: { _id: string }) => _id).toSorted();
    expect(await idsSeen(clientOf(owner))).toEqual([owner.id, own.id].toSorted());
    expect(await idsSeen(clientOf(own))).toEqual([own.id]);
    expect(await idsSeen(stranger)).toEqual([]);
    expect((await stranger('DELETE', `/api/sessions/${own.id}`)).status).toBe(404);
    expect((await clientOf(own)('DELETE', `/api/sessions/${owner.id}`)).status).toBe(404);
    expect((await clientOf(owner)('DELETE', `/api/sessions/${own.id}`)).status).toBe(200);
    expect(await statusOf(own)).toBe(401);
    expect((await workspace.api('GET', '/api/sessions')).body.code).toBe('SESSION_REQUIRED');
  });

  it('ends when its time is over, and when nobody has used it', async () => {
    const { answer, cookie } = await answered(workspace.ownerId);
    const { headers } = await fetch(answer, { headers: { cookie }, redirect: 'manual' });
    const held = await sessionOf(headers.getSetCookie().find((text) => text.startsWith('linepace-session=')));
    await change(held.id, "seen_at = now() - interval '59 minutes'");
    // What a page reads by itself does not prolong it.
    const background = { 'x-console-background': '1' };
    const seenAt = async () => {
      const { sessions } = (await clientOf(held)('GET', '/api/sessions', undefined, background)).body;
      return Date.parse(sessions[0].seenAt);
    };
    const before = await seenAt();
    expect(Date.now() - before).toBeGreaterThan(58 * 60_000);
    expect(await statusOf(held)).toBe(200);
    await eventually(async () => (await seenAt()) > before);
    await change(held.id, "seen_at = now() - interval '61 minutes'");
    expect(await statusOf(held)).toBe(401);
    await change(held.id, "seen_at = now(), expires_at = now() + interval '1 minute'");
    expect(await statusOf(held)).toBe(200);
    await change(held.id, 'expires_at = now()');
    expect(await statusOf(held)).toBe(401);
  });

  it('is not prolonged by an event stream that stays open', async () => {
    const { page } = await signedIn(workspace.ownerId);
    const held = await sessionIn(page.context());
    await page.close();
    const headers = { cookie: held.cookie, 'x-console-session': held.id };
    const stream = await openEventStream(app.url, '', { headers });
    await change(held.id, "seen_at = now() - interval '59 minutes'");
    const background = { 'x-console-background': '1' };
    const seenAt = async () => {
      const { sessions } = (await clientOf(held)('GET', '/api/sessions', undefined, background)).body;
      return sessions.find(({ _id }: { _id: string }) => _id === held.id).seenAt;
    };
    const before = await seenAt();
    // The use of a session is recorded at most once a minute.
    const now = Date.now.bind(Date);
    const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + 61_000);
    onTestFinished(() => later.mockRestore());
    // A revoked key lets the process check all open streams, in the order in which they were opened.
    const other = await openEventStream(app.url, workspace.key);
    await connected(app.ownerUrl, (client) =>
      client.query(
        `set app.migrating = 'on'; update workspace_keys set revoked_at = now() where workspace_id = '${workspace.id}'`,
      ),
    );
    await eventually(async () => other.isClosed());
    expect(stream.isClosed()).toBe(false);
    expect(await seenAt()).toBe(before);
    stream.close();
  });

  it('ends when the provider no longer knows the user, and goes on while it cannot be reached', async () => {
    const { page } = await signedIn(workspace.ownerId);
    const held = await sessionIn(page.context());
    await page.close();
    const due = () => change(held.id, "renew_at = now() - interval '1 second'");
    await due();
    // The requests of a page, of which one renews.
    expect(await Promise.all([statusOf(held), statusOf(held), statusOf(held)])).toEqual([200, 200, 200]);
    provider.isUp = false;
    await due();
    expect(await statusOf(held)).toBe(200);
    provider.isUp = true;
    await due();
    expect(await statusOf(held)).toBe(200);
    provider.accounts.delete(workspace.ownerId);
    await due();
    expect(await statusOf(held)).toBe(401);
    expect(await logOf(workspace, 'session.ended')).toMatchObject([
      { channel: 'system', target: { id: held.id }, changes: { reason: 'identity_provider' } },
    ]);
  });
});

describe('without a client at the identity provider', () => {
  it('production signs people in with session tokens, and not with keys', async () => {
    const production = await startApi({
      ...app.config,
      auth: { ...app.config.auth, client: null, jwksUrl: `${provider.issuer}/jwks` },
      production: true,
      port: 0,
    });
    const { page } = await newBrowser();
    await page.goto(`${production.url}/console`);
    await page.getByLabel('Session token').fill(workspace.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Keys are for programs').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await production.stop();
  });
});
