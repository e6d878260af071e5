import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { signIn } from '#test/support/sessions.ts';
import { buildConsole, openTab, sharedBrowser, type Tab } from './browser.ts';

export interface ConsoleTab extends Tab {
  app: TestApp;
  /** Opens a page, signed in with a workspace key or a session token. */
  signIn(credential: string, path?: string): Promise<void>;
  /** Opens a page, signed in as the owner of the workspace. */
  signInAsOwner(workspace: { id: string; ownerId: string }, path?: string): Promise<void>;
  /** Goes to a page as a link does, which loads nothing again. */
  go(path: string): Promise<void>;
}

/** Opens a page of the console, signed in with a workspace key or a session token. */
export async function signInTo(page: Page, app: TestApp, credential: string, path = '/'): Promise<void> {
  // A small page of the same origin, whose storage the console reads when it starts.
  await page.goto(`${app.url}/console/assets/icon.svg`);
  const session = JSON.stringify({ token: credential, workspaceId: null });
  await page.evaluate(`sessionStorage.setItem('linepace.session', ${JSON.stringify(session)})`);
  await page.goto(`${app.url}/console${path}`);
}

/**
 * The console in a tab for the tests of a file. A test fails if the page has logged an error or was refused something
 * by its content security policy, unless the test takes these problems before it ends.
 */
export function openConsole(): ConsoleTab {
  // A journey of many steps takes longer than other tests.
  vi.setConfig({ testTimeout: 90_000 });
  // Filled in before the first test.
  const tab = {} as ConsoleTab;
  beforeAll(async () => {
    const [app, browser] = await Promise.all([sharedApp(), sharedBrowser(), buildConsole()]);
    const opened = await openTab(browser);
    const { page } = opened;
    Object.assign(tab, opened, {
      app,
      signIn: (credential: string, path?: string) => signInTo(page, app, credential, path),
      async signInAsOwner({ id, ownerId }, path) {
        const owner = { userId: ownerId, organizationId: id, role: 'org:admin' };
        await tab.signIn(await signIn(app, owner), path);
      },
      go: (path: string) => page.evaluate(`history.pushState(null, '', '/console${path}')`),
    } satisfies Partial<ConsoleTab>);
  });
  afterEach(() => {
    const problems = tab.takeProblems();
    if (problems.length > 0) throw new Error(problems.join('\n'));
  });
  // There is none if it could not be opened.
  afterAll(() => (tab as Partial<ConsoleTab>).page?.close());
  return tab;
}
