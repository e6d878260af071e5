import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import type { Demo } from '#standalone/demo-data.ts';
import { startBrowser } from '#test/console/browser.ts';
import { tellStory } from './support/console-story.ts';

/**
 * Takes pictures of every page of the console, light, dark and as on a phone, for docs/console/, with the demo's data in
 * the product that runs here (`npm start`): npm run example -- console-pictures
 */
const PAGES: Record<string, string> = {
  home: '/',
  inbox: '/inbox/%2B14155550145',
  lines: '/lines',
  contacts: '/contacts',
  campaigns: '/campaigns',
  messages: '/messages',
  webhooks: '/webhooks',
  requests: '/requests',
  analytics: '/analytics?period=1',
  compliance: '/compliance',
  settings: '/settings?tab=copilot',
  agency: '/agency',
};
const VIEWS = [
  { suffix: '', width: 1280, height: 800, colorScheme: 'light' },
  { suffix: '-dark', width: 1280, height: 800, colorScheme: 'dark' },
  { suffix: '-phone', width: 390, height: 844, colorScheme: 'light' },
] as const;

const folder = path.resolve(process.argv[2] ?? 'docs/console');
const file = path.join(process.env['DATA_DIR'] ?? '.data', 'demo.json');
const demo = JSON.parse(await readFile(file, 'utf8')) as Demo;
mkdirSync(folder, { recursive: true });
const stopStory = await tellStory(demo);
const browser = await startBrowser();
try {
  for (const view of VIEWS) await takePictures(browser, view);
} finally {
  await browser.close();
  stopStory();
}

async function takePictures(
  from: Browser,
  { suffix, width, height, colorScheme }: (typeof VIEWS)[number],
): Promise<void> {
  const context = await from.newContext({
    viewport: { width, height },
    colorScheme,
    reducedMotion: 'reduce',
    locale: 'en-US',
  });
  const session = JSON.stringify({ token: demo.sessionToken, workspaceId: null });
  // As a text: it runs in the page.
  await context.addInitScript(`sessionStorage.setItem('linepace.session', ${JSON.stringify(session)})`);
  const page = await context.newPage();
  for (const [name, address] of Object.entries(PAGES)) {
    const picture = path.join(folder, `${name}${suffix}.png`);
    await page.goto(`${demo.baseUrl}/console${address}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    // Nothing is loading any more.
    await page.waitForSelector('main [role=status]:not(:empty, .sr-only), main .animate-pulse-soft', {
      state: 'detached',
    });
    await page.screenshot({ path: picture });
    console.log(picture);
  }
  await context.close();
}
