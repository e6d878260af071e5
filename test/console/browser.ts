import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import { inject } from 'vitest';
import { runNode } from '#standalone/node-process.ts';
import { connected } from '#test/setup/database.ts';

/** Builds the console unless it is built. Files that run at the same time wait for one build. */
export const buildConsole = (): Promise<unknown> =>
  connected(inject('databaseUrl'), async (client) => {
    // Held until the connection ends.
    await client.query(`select pg_advisory_lock(hashtext('build the console'))`);
    await runNode('console/build.ts', process.env, AbortSignal.timeout(60_000));
  });

/** Where the package managers of common systems put it. */
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Starts `CHROMIUM_PATH`, an installed browser, or the Chromium that comes as a package (Linux on x64 only). */
export async function startBrowser(): Promise<Browser> {
  const known = [process.env['CHROMIUM_PATH'] ?? '', ...INSTALLED].find(
    (path) => path !== '' && existsSync(path),
  );
  if (known !== undefined) return chromium.launch({ executablePath: known, args: ['--no-sandbox'] });
  const { default: packaged } = await import('@sparticuz/chromium');
  return chromium.launch({ executablePath: await packaged.executablePath(), args: packaged.args });
}

/** A tab, and what its page has complained about. */
export interface Tab {
  page: Page;
  /** Errors in the console, exceptions, and what the content security policy has refused, since the last call. */
  takeProblems(): string[];
}

export async function openTab(browser: Browser, options: { phone?: boolean } = {}): Promise<Tab> {
  const page = await browser.newPage({
    viewport: options.phone ? { width: 390, height: 844 } : { width: 1280, height: 800 },
    locale: 'en-US',
  });
  page.setDefaultTimeout(15_000);
  let problems: string[] = [];
  page.on('console', (message) => {
    // The page of the payment provider has no icon.
    const isOurs = !message.location().url.endsWith('/favicon.ico');
    if (message.type() === 'error' && isOurs) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  // As texts: they run in the page, whose types are not those of Node.
  await page.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    console.error('refused by ' + event.violatedDirective + ': ' + event.blockedURI))`);
  return {
    page,
    takeProblems() {
      const taken = problems;
      problems = [];
      return taken;
    },
  };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** Rules whose result depends on the colours. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
const RULES = {
  light: {
    runOnly: {
      type: 'tag',
      values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    },
  },
  dark: { runOnly: { type: 'rule', values: OF_COLOURS } },
};

/** What axe finds wrong with the page by WCAG 2.2 AA, in light and in dark. */
export async function inaccessible(page: Page): Promise<string[]> {
  const found: string[] = [];
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark'] as const) {
    // Colours in transition are none of either.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const violations = await page.evaluate(
      async (options) => {
        const { axe: loaded } = globalThis as unknown as {
          axe: { run(options: object): Promise<{ violations: Violation[] }> };
        };
        return (await loaded.run(options)).violations;
      },
      { ...RULES[colorScheme], resultTypes: ['violations'] },
    );
    for (const { id, nodes } of violations) {
      for (const { html, failureSummary } of nodes)
        found.push(`${colorScheme}: ${id}: ${html}\n${failureSummary}`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}
