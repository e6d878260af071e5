import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type RunningApi, startApi } from '#api/server.ts';
import { connected } from '#db/connection/connected.ts';
import { newId } from '#domain/base/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient, type ApiClient } from '#test/support/client.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { mailsTo } from '#test/support/mails.ts';
import { buildConsole, inaccessible, openTab, sharedBrowser, type Tab } from './browser.ts';

vi.setConfig({ testTimeout: 90_000 });

let app: TestApp;
/** As in production, with the worker of the app, which sends the emails. */
let api: RunningApi;
/** The same without a mail server. */
let mute: RunningApi;
let url: string;
let workspace: TestWorkspace;
const email = `owner-${newId()}@example.test`;
const tabs: Tab[] = [];

beforeAll(async () => {
  await buildConsole();
  app = await sharedApp();
  const port = await freePort();
  url = `http://localhost:${port}`;
  const config = { ...app.config, production: true, publicUrl: url };
  [api, mute] = await Promise.all([
    startApi({ ...config, port }),
    startApi({ ...config, port: 0, mail: { ...config.mail, smtpUrl: null } }),
  ]);
  workspace = await createWorkspace(app, { name: 'Harbour Homes' });
  await connected(app.ownerUrl, (client) =>
    client.query('update users set email = $1 where id = $2', [email, workspace.ownerId]),
  );
});
afterAll(async () => {
  await Promise.all(tabs.map(({ page }) => page.context().close()));
  await Promise.all([api.stop(), mute.stop()]);
});

/** A browser of its own. */
async function newBrowser(): Promise<Tab> {
  const tab = await openTab(await sharedBrowser());
  tabs.push(tab);
  return tab;
}

/** Asks for a link on the sign-in page. @returns the link in the email. */
async function askForLink(page: Page): Promise<string> {
  const before = (await mailsTo(app, email)).length;
  await page.goto(`${url}/console`);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Email me a link' }).click();
  await page.getByText('an email with a link is on its way').waitFor();
  const mail = await eventually(async () => (await mailsTo(app, email))[before]);
  return new RegExp(`${url}/sign-in/[\\w-]+`).exec(mail.text)?.[0] ?? '';
}

/** Gives the browser an authenticator that verifies its user at once. */
async function addAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** A client with the session of the browser. */
async function clientOf(page: Page, at = url): Promise<ApiClient> {
  const cookies = await page.context().cookies(url);
  const cookie = `linepace-session=${cookies.find(({ name }) => name === 'linepace-session')?.value}`;
  const options = await fetch(`${url}/auth/session`, { headers: { cookie } });
  const { sessionId } = (await options.json()) as { sessionId: string };
  return (method, path, body) =>
    apiClient(at, '')(method, path, body, { cookie, 'x-console-session': sessionId });
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /Account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Linepace' }).waitFor();
}

test('signs in with a link by email, in no other browser', async () => {
  const { page, takeProblems } = await newBrowser();
  const link = await askForLink(page);
  expect(await inaccessible(page)).toEqual([]);
  const other = await newBrowser();
  await other.page.goto(link);
  await other.page.getByRole('heading', { name: 'Open this link where you asked for it' }).waitFor();
  expect(other.takeProblems()).toEqual([expect.stringContaining('403')]);
  await page.goto(link);
  await page.getByText(email).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  expect(page.url()).toBe(`${url}/console`);
  expect(takeProblems()).toEqual([]);
});

test('signs in with a passkey that was added in the settings, once for each answer', async () => {
  const { page, takeProblems } = await newBrowser();
  await addAuthenticator(page);
  await page.goto(await askForLink(page));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.goto(`${url}/console/settings?tab=sessions`);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Laptop');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('list', { name: 'Passkeys' }).getByText('Laptop').waitFor();
  expect(await inaccessible(page)).toEqual([]);

  await signOut(page);
  const asked = page.waitForRequest((request) => request.url().endsWith('/api/sign-in/passkeys/verify'));
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  const answer = (await asked).postData() ?? '';
  await page.getByRole('button', { name: /Account/ }).waitFor();
  expect(takeProblems()).toEqual([]);
  const again = await apiClient(url, '')('POST', '/api/sign-in/passkeys/verify', answer);
  expect([again.status, again.headers.getSetCookie()]).toEqual([401, []]);

  const owner = await clientOf(page);
  const { passkeys } = (await owner('GET', '/api/passkeys')).body;
  expect(passkeys).toMatchObject([{ name: 'Laptop', lastUsedAt: expect.any(String) }]);
  const path = `/api/passkeys/${passkeys[0]._id}`;
  const stranger = await createWorkspace(app);
  expect((await stranger.api('DELETE', path)).body.code).toBe('SESSION_REQUIRED');
  // No link can be sent.
  expect((await (await clientOf(page, mute.url))('DELETE', path)).body).toMatchObject({
    code: 'LAST_WAY_IN',
  });
  await page.goto(`${url}/console/settings?tab=sessions`);
  await page.getByRole('button', { name: 'Remove the passkey: Laptop' }).click();
  await page.getByText('The passkey was removed').waitFor();
  expect((await owner('GET', '/api/passkeys')).body.passkeys).toEqual([]);
  const log = (await owner('GET', '/api/audit-log')).body.entries;
  expect(log.map(({ action }: { action: string }) => action).slice(0, 2)).toEqual([
    'passkey.deleted',
    'session.started',
  ]);
  await signOut(page);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('You were not signed in').waitFor();
  takeProblems();
});

test('adds no passkey without a challenge of this person', async () => {
  const { page } = await newBrowser();
  await addAuthenticator(page);
  await page.goto(await askForLink(page));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  const owner = await clientOf(page);
  await page.goto(`${url}/console/settings?tab=sessions`);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  const asked = page.waitForRequest(
    (request) => request.url().endsWith('/api/passkeys') && request.method() === 'POST',
  );
  await page.getByRole('button', { name: 'Continue' }).click();
  const body = JSON.parse((await asked).postData() ?? '') as object;
  await page.getByRole('list', { name: 'Passkeys' }).waitFor();
  const again = await owner('POST', '/api/passkeys', body);
  expect([again.status, again.body.issues[0].path]).toEqual([400, 'response']);
});
