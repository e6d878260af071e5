import type { Page } from 'playwright-core';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import type { JWK } from 'jose';
import { signLocalSession } from '../../api/auth/session-token.ts';
import { createPools } from '../../db/connection/pools.ts';
import { systemDb } from '../../db/connection/transactions.ts';
import { newId } from '../../domain/base/ids.ts';
import { freePort } from '../../providers/free-port.ts';
import { connected } from '../../db/connection/connected.ts';
import { startProcess } from '../../test/support/process.ts';
import { startBrowser } from '../../test/console/browser.ts';
import { loadInbox } from './console/inbox-load.ts';
import { measureInbox } from './console/inbox.ts';
import { report } from './support/rows.ts';
import { startServers } from './support/servers.ts';
import { quantile } from './support/webhook-load.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures how smoothly the console scrolls a long list, how long a key press takes to show its effect, and in the inbox how long
 * it takes to open a conversation, show a reply and search. Requires a build (`npm run build`).
 * `npm run bench -- console [--list contacts|inbox --rows 100000 --seconds 40 --rounds 20]`
 */
const { values: options } = parseArgs({
  options: {
    list: { type: 'string', default: 'contacts' },
    rows: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '20' },
  },
});
const ROWS = Number(options.rows);
const ROUNDS = Number(options.rounds);
const PIXELS_A_FRAME = 400;

interface List {
  path: string;
  /** The selector of the element that scrolls. */
  scroller: string;
  /** The prefix of the URLs that it requests. */
  requests: string;
  /** A text that is visible once the list is. */
  shows: RegExp;
  fill: () => Promise<void>;
}

const LISTS: Record<string, List> = {
  contacts: {
    path: 'contacts',
    scroller: '[role=table]',
    requests: '/api/leads?',
    shows: /Contact 100/,
    fill: insertLeads,
  },
  inbox: {
    path: 'inbox',
    scroller: 'section[aria-label=Conversations] div:has(> ul[aria-label=Conversations])',
    requests: '/api/conversations?',
    shows: /Is the flat/,
    fill: () =>
      connected(servers.ownerUrl, (owner) => loadInbox(owner, workspaceId, userId, lineIds[0] ?? '', ROWS)),
  },
};
const list = LISTS[options.list];
if (!list) throw new Error(`--list must be one of ${Object.keys(LISTS).join(', ')}`);

const servers = await startServers();
const pools = await createPools(servers.config.database, { size: 2, statementTimeoutMs: 600_000 });
const { id: workspaceId, userId, lineIds } = await createBenchWorkspace(pools, 5);
await list.fill();
const port = await freePort();
const api = await startProcess('api/server.ts', servers.config, port);
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const url = `http://127.0.0.1:${port}`;
  await page.goto(`${url}/console/assets/icon.svg`);
  const localKey = JSON.parse(servers.config.auth.localJwk ?? '{}') as JWK;
  const owner = { userId, organizationId: workspaceId, role: 'org:admin', expires: '12h' };
  const token = await signLocalSession(localKey, servers.config.auth.issuer, owner);
  const session = JSON.stringify({ token, workspaceId: null });
  await page.evaluate(`sessionStorage.setItem('linepace.session', ${JSON.stringify(session)})`);
  await page.goto(`${url}/console/${list.path}`);
  await page.getByText(list.shows).first().waitFor();
  if (options.list === 'contacts') await measureInteractions(page);
  // A person is slower, and stays within the rate limits.
  const forgetRequests = () => systemDb(pools).query(sql.type(z.unknown())`delete from rate_limits`);
  const rows = options.list === 'inbox' ? await measureInbox(page, ROUNDS, forgetRequests) : [];
  if (Number(options.seconds) > 0) await measureScrolling(page, list);
  await report(rows);
} finally {
  await browser.close();
  await api.kill();
  await pools.close();
  await servers.stop();
}

async function insertLeads(): Promise<void> {
  const db = systemDb(pools);
  const listId = newId();
  await db.query(sql.type(z.unknown())`
    insert into lead_lists (workspace_id, id, name) values (${workspaceId}, ${listId}, 'Everybody')`);
  await db.query(sql.type(z.unknown())`
    insert into leads (workspace_id, id, list_id, first_name, last_name, phones, company_name)
    select ${workspaceId}, lpad(to_hex(n), 24, '0'), ${listId}, 'Contact', n::text, array['+1415' || (5000000 + n)], 'Company ' || n % 500
    from generate_series(1, ${ROWS}) n`);
}

/** Milliseconds from each key press to the next paint, from the browser's Event Timing. */
async function measureInteractions(page: Page): Promise<void> {
  await page.evaluate(`
    globalThis.interactions = new Map();
    new PerformanceObserver((list) => {
      for (const { interactionId, duration } of list.getEntries())
        if (interactionId > 0) interactions.set(interactionId, Math.max(interactions.get(interactionId) ?? 0, duration));
    }).observe({ type: 'event', durationThreshold: 16 });`);
  const press = (key: string) => page.keyboard.press(key);
  const KINDS: Record<string, () => Promise<unknown>> = {
    async 'moves through the list'() {
      await press('j');
    },
    async 'opens a contact'() {
      await press('Enter');
      await page.getByRole('dialog').waitFor();
    },
    async 'closes it'() {
      await press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    },
    async 'opens the palette'() {
      await press('Control+k');
      await page.getByRole('combobox').waitFor();
    },
    async 'types into it'() {
      await press('a');
    },
    async 'closes the palette'() {
      await press('Escape');
      await page.getByRole('combobox').waitFor({ state: 'detached' });
    },
    async 'goes to another page'() {
      await press('g');
      await press('l');
      await page.getByRole('heading', { name: 'Lines', exact: true }).waitFor();
    },
    async 'comes back'() {
      await press('g');
      await press('c');
      await page.getByRole('row').nth(1).focus();
    },
  };
  const measured: Record<string, number[]> = {};
  await page.getByRole('row').nth(1).focus();
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, act] of Object.entries(KINDS)) {
      await page.evaluate('interactions.clear()');
      await act();
      // Two frames later the last entries are there.
      await page.evaluate(
        'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))',
      );
      const times = (await page.evaluate('[...interactions.values()]')) as number[];
      // The first round loads what is loaded later. What takes less than 16 ms is not reported.
      if (round > 0) (measured[name] ??= []).push(...(times.length > 0 ? times : [16]));
    }
  for (const [name, times] of Object.entries(measured))
    console.log(
      `a key that ${name}: median ${quantile(times, 0.5)} ms, 95 % ${quantile(times, 0.95)} ms, at most ${Math.max(...times)} ms`,
    );
}

interface Scrolled {
  frames: number[];
  elements: number;
  rows: number;
  failures: number;
}

async function measureScrolling(page: Page, { scroller, requests: address }: List): Promise<void> {
  let requests = 0;
  let refused = 0;
  page.on('response', (response) => {
    if (!response.url().includes(address)) return;
    requests += 1;
    if (response.status() === 429) refused += 1;
  });
  const { frames, elements, rows, failures } = (await page.evaluate(`(async () => {
    const list = document.querySelector(${JSON.stringify(scroller)});
    const frames = [];
    let elements = 0;
    let before = performance.now();
    const end = before + ${Number(options.seconds) * 1000};
    while (performance.now() < end) {
      list.scrollTop += ${PIXELS_A_FRAME};
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      frames.push(now - before);
      before = now;
      elements = Math.max(elements, document.querySelectorAll('*').length);
    }
    const last = [...list.querySelectorAll('[data-index]')].at(-1);
    return { frames, elements, rows: Number(last.dataset.index) + 1, failures: document.querySelectorAll('[role=alert]').length };
  })()`)) as Scrolled;
  const ms = (share: number): string => `${quantile(frames, share).toFixed(0)} ms`;
  console.log(
    `scrolled ${rows} of ${ROWS} rows in ${options.seconds} s, ${requests} requests, ${refused} of them refused, ${failures} errors shown`,
  );
  console.log(
    `frames: median ${ms(0.5)}, 95 % ${ms(0.95)}, 99 % ${ms(0.99)}, at most ${ms(1)}; at most ${elements} elements`,
  );
}
