import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { tmpdir } from 'node:os';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedBrowser } from './browser.ts';
import { openConsole } from './console-tab.ts';
import { NOW, RESPONSES } from './fixed-data.ts';
import { differentBlocks } from './picture-difference.ts';

/*
 * Pages as they were when somebody last looked at them, in `pictures/`. After a change that is meant:
 * RENEW_PICTURES=1 npm run test:system -- test/console/pictures.test.ts
 */
const FOLDER = path.join(import.meta.dirname, 'pictures');
const RENEW = process.env['RENEW_PICTURES'] === '1';

const VIEWS = {
  light: { width: 1280, height: 800, colorScheme: 'light' },
  dark: { width: 1280, height: 800, colorScheme: 'dark' },
  phone: { width: 390, height: 844, colorScheme: 'light' },
} as const;

const PAGES: Record<string, (page: Page) => Promise<void>> = {
  async home(page) {
    await tab.go('/');
    await page.getByText('1 draft waits for you').waitFor();
    await page.locator('canvas').waitFor();
  },
  async inbox(page) {
    await tab.go('/inbox/%2B14155550145');
    await page.getByRole('heading', { name: 'Draft' }).waitFor();
    await page.getByText('From Dana Lee').waitFor();
  },
  async lines(page) {
    await tab.go('/lines');
    await page.getByText('Ines Faria').waitFor();
  },
  async compliance(page) {
    await tab.go('/compliance');
    await page.getByText('208 of 2,284').waitFor();
    await page.locator('canvas').waitFor();
    await page.getByText('DMARC fails').waitFor();
  },
  async 'compliance-opt-outs'(page) {
    await tab.go('/compliance?tab=opt-outs');
    await page.getByText('+1 415 555 0148').first().waitFor();
  },
  async 'campaign-builder'(page) {
    await tab.go('/campaigns');
    await page.getByRole('link', { name: 'New campaign' }).first().click();
    await page.getByLabel('Name').fill('Spring viewings');
    await page.getByLabel('List').selectOption({ label: 'Spring viewings' });
    await page.getByRole('textbox', { name: 'Message' }).fill('Hi {{ firstName }}, the flat is free.');
    await page.getByRole('status', { name: 'Forecast' }).waitFor();
    await page.getByRole('status', { name: 'Consent to iMessage' }).waitFor();
  },
  async 'campaign-funnel'(page) {
    await tab.go('/campaigns/111111111111111111111111?part=funnel');
    await page.getByRole('status', { name: 'Forecast' }).waitFor();
    await page.getByRole('region', { name: 'Opt-outs to step 2' }).waitFor();
  },
};

const tab = openConsole();
/** What the pages have asked for and `fixed-data.ts` does not answer. */
const missing = new Set<string>();

beforeAll(async () => {
  const { page } = tab;
  await page.clock.setFixedTime(NOW);
  const patterns = Object.entries(RESPONSES).map(([endpoint, body]) => {
    const address = endpoint.replace(/^\w+ /, '').replaceAll(/\{\w+\}/g, '[^/]+');
    return { pattern: new RegExp(`^${address}$`), body };
  });
  await page.route(
    ({ pathname }) => pathname.startsWith('/api/'),
    (route) => {
      const { pathname } = new URL(route.request().url());
      // No event ever comes.
      if (pathname === '/api/events/stream') return undefined;
      const known = patterns.find(({ pattern }) => pattern.test(pathname));
      if (!known) missing.add(pathname);
      return known ? route.fulfill({ json: known.body }) : route.fulfill({ status: 404, json: {} });
    },
  );
  await tab.signIn('svc_sk_of_nobody');
  await mkdir(FOLDER, { recursive: true });
});

describe.each(Object.entries(VIEWS))('in %s', (view, { colorScheme, ...size }) => {
  it.each(Object.keys(PAGES))('%s looks as it did', async (name) => {
    const { page } = tab;
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    await PAGES[name]?.(page);
    await page.evaluate('document.fonts.ready');
    const unanswered = [...missing];
    missing.clear();
    expect(unanswered).toEqual([]);
    const taken = await page.screenshot({ caret: 'hide', animations: 'disabled' });
    await page.keyboard.press('Escape');
    const file = path.join(FOLDER, `${name}-${view}.png`);
    if (RENEW || !existsSync(file)) {
      await writeFile(file, taken);
      expect(RENEW, `there was no picture: ${file} was taken now`).toBe(true);
      return;
    }
    const different = await differentBlocks(await sharedBrowser(), readFileSync(file), taken);
    if (different.length === 0) return;
    const now = path.join(tmpdir(), `${name}-${view}.png`);
    await writeFile(now, taken);
    expect(different, `${now} differs from ${file} in these blocks, at x, y`).toEqual([]);
  });
});
