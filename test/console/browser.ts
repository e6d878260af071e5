import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { isBuilt } from '#console/sources.ts';
import { runNode } from '#standalone/node-process.ts';
import { alone } from '#test/setup/database.ts';

/** A PNG of one pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Builds the console unless it is built. Files that run at the same time wait for one build. */
export async function buildConsole(): Promise<void> {
  if (await isBuilt()) return;
  await alone('build the console', () =>
    runNode('console/build.ts', process.env, AbortSignal.timeout(300_000)),
  );
}

/** Where the package managers of common systems put it. */
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/**
 * Starts the browser at `CHROMIUM_PATH`, an installed one, or the Chromium that comes as a package (Linux on x64 only).
 * `CHROMIUM_PATH=package` prefers the last one.
 */
export async function startBrowser(): Promise<Browser> {
  const { CHROMIUM_PATH = '' } = process.env;
  const known = CHROMIUM_PATH === 'package' ? [] : [CHROMIUM_PATH, ...INSTALLED];
  const installed = known.find((path) => path !== '' && existsSync(path));
  // Hinting changes the widths of letters, and so where lines break, differently in each browser. The other arguments of
  // the package are left out: a browser of a single process ends with the first tab that is closed.
  const args = ['--no-sandbox', '--font-render-hinting=none'];
  if (installed !== undefined) return chromium.launch({ executablePath: installed, args });
  const { default: packaged } = await import('@sparticuz/chromium');
  return chromium.launch({ executablePath: await packaged.executablePath(), args });
}

let shared: Promise<Browser> | undefined;

/** The browser of the test files of a process, one after the other. It ends with the process. */
export const sharedBrowser = (): Promise<Browser> =>
  // The package unpacks its browser, which cannot be started while another process writes it.
  (shared ??= alone('start a browser', startBrowser));

/** A tab, and what its page has complained about. */
export interface Tab {
  page: Page;
  /** Errors in the console, exceptions, and what the content security policy has refused, since the last call. */
  takeProblems(): string[];
}

export const TAB = {
  viewport: { width: 1280, height: 800 },
  locale: 'en-US',
  // The sidebar names the zone of a workspace that is not the browser's.
  timezoneId: 'UTC',
  // Nothing waits for the end of a transition, and no colour is in the middle of one.
  reducedMotion: 'reduce',
} as const;

/** @param context with the options `TAB`, for one more tab of a browser. Default: a browser of its own. */
export async function openTab(browser: Browser, context?: BrowserContext): Promise<Tab> {
  const page = await (context?.newPage() ?? browser.newPage(TAB));
  page.setDefaultTimeout(60_000);
  let problems: string[] = [];
  page.on('console', (message) => {
    const { url } = message.location();
    // The page of the payment provider has no icon.
    if (message.type() === 'error' && !url.endsWith('/favicon.ico'))
      problems.push(`${message.text()} ${url}`);
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
    await page.emulateMedia({ colorScheme });
    const violations = await page.evaluate(
      async (options) => {
        const { axe: loaded } = globalThis as unknown as {
          axe: { run(options: object): Promise<{ violations: Violation[] }> };
        };
        return (await loaded.run(options)).violations;
      },
      // Without what needs the style sheets, which takes as long as all else.
      { ...RULES[colorScheme], resultTypes: ['violations'], preload: false },
    );
    for (const { id, nodes } of violations) {
      for (const { html, failureSummary } of nodes)
        found.push(`${colorScheme}: ${id}: ${html}\n${failureSummary}`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** The headings, buttons and lists of tabs that end before their text does. */
export const cutTexts = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const named = 'h1, h2, h3, button, label, legend, dt, [role=tablist], [role=columnheader], [role=meter]';
    return [...document.querySelectorAll(named)]
      .map((element) => (element.role === 'meter' ? element.previousElementSibling.firstElementChild : element))
      .filter((element) => element.checkVisibility() && !element.closest('.sr-only'))
      .filter((element) => getComputedStyle(element).overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1)
      .map((element) => element.textContent);
  })()`);

/** The buttons which a notification covers; on a phone, those of the dialog or menu that is open. */
export const coveredButtons = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const region = document.querySelector('[role=region][aria-label=Notifications]');
    if (!region?.firstElementChild) throw new Error('there is no notification');
    const covering = [...region.children].map((toast) => toast.getBoundingClientRect());
    const any = ':is(button, [role=tab], [role=menuitem])';
    const buttons = document.querySelectorAll(innerWidth < 768 ? \`:is([role=dialog], [role=menu]) \${any}\` : any);
    return [...buttons]
      .filter((button) => !region.contains(button))
      .filter((button) => {
        const { top, right, bottom, left } = button.getBoundingClientRect();
        return covering.some((box) => box.left < right && left < box.right && box.top < bottom && top < box.bottom);
      })
      .map((button) => button.textContent || button.ariaLabel);
  })()`);
