import type { Page } from 'playwright-core';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { createPools } from '#db/pools.ts';
import { systemDb } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { startProcess } from '#test/support/process.ts';
import { startBrowser } from '#test/console/browser.ts';
import { startServers } from './support/servers.ts';
import { quantile } from './support/webhook-load.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * How smoothly the console scrolls a long list, and how long it takes from a key to what the key shows. It needs a build
 * (`npm run build`). `npm run bench -- console [--leads 100000 --seconds 40 --rounds 20]`
 */
const { values: options } = parseArgs({
  options: {
    leads: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '20' },
  },
});
const LEADS = Number(options.leads);
const ROUNDS = Number(options.rounds);
const PIXELS_A_FRAME = 400;

const servers = await startServers();
const pools = await createPools(servers.config.database, { size: 2, statementTimeoutMs: 600_000 });
const { id: workspaceId, key } = await createBenchWorkspace(pools, 5);
await insertLeads(newId());
const port = await freePort();
const api = await startProcess('api/server.ts', servers.config, port);
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const url = `http://127.0.0.1:${port}`;
  await page.goto(`${url}/console/assets/icon.svg`);
  const session = JSON.stringify({ token: key, workspaceId: null });
  await page.evaluate(`sessionStorage.setItem('linepace.session', ${JSON.stringify(session)})`);
  await page.goto(`${url}/console/contacts`);
  await page
    .getByRole('row', { name: /Contact 100/ })
    .first()
    .waitFor();
  await measureInteractions(page);
  await measureScrolling(page);
} finally {
  await browser.close();
  await api.kill();
  await pools.close();
  await servers.stop();
}

async function insertLeads(listId: string): Promise<void> {
  const db = systemDb(pools);
  await db.query(sql.type(z.unknown())`
    insert into lead_lists (workspace_id, id, name) values (${workspaceId}, ${listId}, 'Everybody')`);
  await db.query(sql.type(z.unknown())`
    insert into leads (workspace_id, id, list_id, first_name, last_name, phones, company_name)
    select ${workspaceId}, lpad(to_hex(n), 24, '0'), ${listId}, 'Contact', n::text, array['+1415' || (5000000 + n)], 'Company ' || n % 500
    from generate_series(1, ${LEADS}) n`);
}

/** Milliseconds from each key to the next picture that the browser shows, as the browser's Event Timing has it. */
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

async function measureScrolling(page: Page): Promise<void> {
  let requests = 0;
  let refused = 0;
  page.on('response', (response) => {
    if (!response.url().includes('/api/leads?')) return;
    requests += 1;
    if (response.status() === 429) refused += 1;
  });
  const { frames, elements, rows, failures } = (await page.evaluate(`(async () => {
    const list = document.querySelector('[role=table]');
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
    `scrolled ${rows} of ${LEADS} rows in ${options.seconds} s, ${requests} requests, ${refused} of them refused, ${failures} errors shown`,
  );
  console.log(
    `frames: median ${ms(0.5)}, 95 % ${ms(0.95)}, 99 % ${ms(0.99)}, at most ${ms(1)}; at most ${elements} elements`,
  );
}
