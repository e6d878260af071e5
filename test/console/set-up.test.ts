import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { OwnApp } from '#test/support/app.ts';
import { startProductionApp } from '#test/support/production.ts';
import { ops } from '#workers/ops.ts';
import { buildConsole, inaccessible, openTab, sharedBrowser, type Tab } from './browser.ts';

vi.setConfig({ testTimeout: 90_000 });

let app: OwnApp;
/** The browser of who sets the installation up. */
let owner: Tab;

beforeAll(async () => {
  const [started] = await Promise.all([startProductionApp({}, { worker: false }), buildConsole()]);
  app = started;
  owner = await openTab(await sharedBrowser());
});
afterAll(async () => {
  await owner.page.context().close();
  await app.stop();
});

async function setupCode(): Promise<string> {
  const { stdout } = await ops(['setup-code'], {
    DATABASE_URL: app.config.database.tenantUrl,
    DATABASE_SYSTEM_URL: app.config.database.systemUrl,
    TEMPORAL_ADDRESS: app.config.temporal.address,
  });
  return (JSON.parse(stdout) as { code: string }).code;
}

async function newBrowser(): Promise<Tab> {
  const tab = await openTab(await sharedBrowser());
  onTestFinished(() => tab.page.context().close());
  return tab;
}

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
}

const OWNER = {
  'Name of your agency': 'Harbour Group',
  'Name of the workspace': 'Harbour Homes',
  'Your email address': 'olivia@harbour.example',
};

test('every address of the console shows the page Set up, which signs the owner in', async () => {
  const { page, takeProblems } = owner;
  await page.goto(`${app.url}/console/lines`);
  await page.getByRole('heading', { name: 'Set up Linepace' }).waitFor();
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect(await page.getByText('Sign in').count()).toBe(0);
  expect(await inaccessible(page)).toEqual([]);

  await fill(page, { ...OWNER, 'Setup code': 'guess' });
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByText('The code is wrong, or it has expired').waitFor();
  expect(takeProblems()).toEqual([expect.stringContaining('401')]);

  // Somebody else is looking at the page as well.
  const late = await newBrowser();
  await late.page.goto(`${app.url}/console`);
  await fill(late.page, { ...OWNER, 'Setup code': 'guess' });

  await fill(page, { 'Setup code': await setupCode() });
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByRole('button', { name: /Account/ }).waitFor();
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('token":"');
  expect(takeProblems()).toEqual([]);

  await late.page.getByRole('button', { name: 'Set up' }).click();
  await late.page.getByRole('heading', { name: 'Sign in to Linepace' }).waitFor();
  expect(late.takeProblems()).toEqual([expect.stringContaining('409')]);
});

test('the console of an installation without payments shows no plans, invoices or cards', async () => {
  const { page, takeProblems } = owner;
  for (const [path, shown] of [
    ['/agency', page.getByText('No clients yet').or(page.getByRole('row')).first()],
    ['/settings?tab=emails', page.getByLabel('Campaigns')],
    ['/lines', page.getByRole('button', { name: 'Request a line' }).first()],
  ] as const) {
    await page.goto(`${app.url}/console${path}`);
    await shown.waitFor();
    const text = (await page.locator('main').textContent()) ?? '';
    expect(text, path).not.toMatch(/billing|invoice|subscription|payment|\bplans?\b/i);
  }
  await page.getByRole('button', { name: 'Request a line' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  expect(await dialog.textContent()).not.toMatch(/plan|paid/i);
  expect(takeProblems()).toEqual([]);
});
