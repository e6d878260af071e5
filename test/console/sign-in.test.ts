import { describe, expect, it } from 'vitest';
import { insertConsoleCode } from '#db/queries/accounts/console-codes.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { hashConsoleCode, newConsoleCode } from '#domain/accounts/console-code.ts';
import { createKey, createWorkspace } from '#test/support/factories.ts';
import { apiClient } from '#test/support/client.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';
import { inaccessible, openTab } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

describe('the files of the console', () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${tab.app.url}/console${path}`, { headers });

  it('have a policy without inline scripts or styles, and a page for every path', async () => {
    const response = await get('/any/address');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(await response.text()).not.toMatch(/<style|<script>|style=/);
  });

  it('are cacheable for a year if their names contain a hash, and compressed for clients that accept it', async () => {
    const html = await (await get('')).text();
    const script = /assets\/index-[\w-]+\.js/.exec(html)?.[0];
    for (const encoding of ['br', 'gzip']) {
      const response = await get(`/${script}`, { 'accept-encoding': encoding });
      expect(response.headers.get('content-encoding')).toBe(encoding);
      expect(response.headers.get('cache-control')).toContain('immutable');
      expect(response.headers.get('vary')).toContain('Accept-Encoding');
    }
  });

  it('show something before the scripts have arrived', async () => {
    const { page } = await openTab(tab.page.context().browser()!);
    const held = Promise.withResolvers<void>();
    await page.route('**/assets/index-*.js', async (route) => {
      await held.promise;
      await route.continue();
    });
    const loading = page.goto(`${tab.app.url}/console/`);
    await page.locator('#root > p').getByText('Linepace').waitFor();
    held.resolve();
    await loading;
    await page.locator('#root > p').waitFor({ state: 'detached' });
    await page.close();
  });

  it('include nothing outside the build', async () => {
    for (const path of [
      '/assets/none-12345678.js',
      '/assets/..%2Findex.html',
      '/assets/%2e%2e%2f%2e%2e%2fbuild.ts',
    ])
      expect((await get(path)).status, path).toBe(404);
  });
});

describe('signing in', () => {
  it('refuses a wrong key at its field, and keeps a valid one for the tab only, neither in local storage nor in a cookie', async () => {
    const { page, app } = tab;
    const { key } = await createWorkspace(app, { name: 'Harbour Homes' });
    await page.goto(`${app.url}/console`);
    await page.getByLabel('Workspace key').fill('svc_sk_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This key is not valid').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    expect(tab.takeProblems()).toEqual([expect.stringContaining('401')]);
    await page.getByLabel('Workspace key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain('svc_');
    const other = await openTab(page.context().browser()!);
    await other.page.goto(`${app.url}/console`);
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.page.close();
  });

  const signOut = async (): Promise<void> => {
    const { page } = tab;
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate("sessionStorage.getItem('linepace.session')")).toBeNull();
  };

  it('ends on signing out, and when the API refuses the key, and shows nothing of it to whoever signs in next', async () => {
    const { page, app } = tab;
    await signOut();
    const [first, second] = await Promise.all([
      createWorkspace(app, { name: 'Second Street' }),
      createWorkspace(app, { name: 'Third Avenue' }),
    ]);
    await page.getByLabel('Workspace key').fill(await createKey(app, 'workspace', first.id));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Second Street').first().waitFor();
    const owner = { userId: first.ownerId, organizationId: first.id, role: 'org:admin' };
    const session = await sessionClient(app, owner);
    const { keys } = (await session('GET', '/api/keys')).body;
    for (const { _id } of keys) await session('DELETE', `/api/keys/${_id}`);
    // Not there any more if the console has asked for something meanwhile.
    await page
      .getByRole('link', { name: 'Messages' })
      .evaluateAll((links: { click(): void }[]) => links.forEach((link) => link.click()));
    await page.getByLabel('Workspace key').fill(second.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Third Avenue').first().waitFor();
    expect(await page.getByText('Second Street').count()).toBe(0);
    // A page asks for several things at once.
    expect(tab.takeProblems().filter((problem) => !problem.includes('401'))).toEqual([]);
  });

  it('brings whoever signs in again after a session has ended back to what was being written', async () => {
    const { page, app } = tab;
    const workspace = await createWorkspace(app, { name: 'Fifth Corner' });
    const owner = { userId: workspace.ownerId, organizationId: workspace.id, role: 'org:admin' };
    await tab.signInAsOwner(workspace, '/contacts');
    await page.getByRole('button', { name: 'New list' }).click();
    const dialog = page.getByRole('dialog', { name: 'New list' });
    const name = dialog.getByLabel('Name', { exact: true });
    await name.fill('Buyers');
    const end = async () => {
      await page.route('**/api/lists', (route) =>
        route.fulfill({ status: 401, json: { error: 'The session has ended', code: 'UNAUTHORIZED' } }),
      );
      await name.press('Enter');
      await page.getByText('Your session ended').waitFor();
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      expect(new Set(tab.takeProblems())).toEqual(new Set([expect.stringContaining('401')]));
    };
    await end();
    await dialog.waitFor({ state: 'hidden' });
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('Workspace key').fill(await signIn(app, owner));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor();
    expect(await name.inputValue()).toBe('Buyers');
    await expect.poll(() => name.and(page.locator(':focus')).count()).toBe(1);
    expect(await inaccessible(page)).toEqual([]);

    // Somebody else sees nothing of it.
    await end();
    const other = await createWorkspace(app, { name: 'Sixth Lane' });
    await page.getByLabel('Workspace key').fill(other.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Sixth Lane').first().waitFor();
    expect(await dialog.count()).toBe(0);
    expect(await page.getByText('Fifth Corner').count()).toBe(0);
    expect((await apiClient(app.url, workspace.key)('GET', '/api/lists')).body.lists).not.toMatchObject([
      { name: 'Buyers' },
    ]);
  });

  it('accepts the one-time code of a link and removes it from the address', async () => {
    const { page, app } = tab;
    await signOut();
    const workspace = await createWorkspace(app, { name: 'Fourth Place' });
    const code = newConsoleCode();
    await insertConsoleCode(systemDb(app.pools), hashConsoleCode(code), workspace.id);
    await page.goto('about:blank');
    await page.goto(`${app.url}/console#code=${code}`);
    await page.getByText('Fourth Place').first().waitFor();
    expect(page.url()).not.toContain('code');
  });
});
