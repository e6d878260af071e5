import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Demo } from '../../standalone/demo-data.ts';
import { livePid } from '../../standalone/pid-file.ts';
import { freePort } from '../../providers/free-port.ts';
import { keepFolder, removeTemporaryFolder, stopAtEnd, temporaryFolder } from '../bench/support/leftovers.ts';
import { runEverything } from './chaos/everything.ts';
import { inParallel, until } from '../bench/support/waiting.ts';

/**
 * `npm run chaos -- --messages 5000 [--seed 1] [--kills 20]`: messages of all kinds, while everything is killed and the
 * carrier misleads (`chaos/everything.ts`). Otherwise:
 *
 * Starts the product on its own ports and data, sends drips to it while it breaks, and counts lost and doubled messages in
 * the carrier's log: `npm run chaos -- --scenario temporal|kills [--drips 2000]`.
 * `temporal`: the Temporal server does not respond for two minutes. `kills`: API, worker and PostgreSQL are each killed
 * with SIGKILL while requests arrive, and again while messages are sent.
 */
const { values } = parseArgs({
  options: {
    scenario: { type: 'string', default: 'temporal' },
    drips: { type: 'string', default: '2000' },
    messages: { type: 'string' },
    seed: { type: 'string', default: '1' },
    kills: { type: 'string', default: '20' },
  },
});
const DRIPS = Number(values.drips);
const OUTAGE_MS = 120_000;
/** On a busy machine. */
const START_MS = 300_000;
/** Drips are sent 30 seconds to 5.5 minutes after they were accepted. */
const SETTLE_MS = 15 * 60_000;
const RELAXED = {
  dailyTotalMessagesLimit: 10_000,
  dailyNewConversationsLimit: 10_000,
  hourlyNewConversationsLimit: 10_000,
  minGapSeconds: 0,
  contactGapSeconds: 0,
};

const dataDir = temporaryFolder('linepace-chaos-');
const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
const clocksDir = path.join(dataDir, 'clocks');
mkdirSync(clocksDir);
const product = spawn(process.execPath, ['standalone/main.ts'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    ...process.env,
    DATA_DIR: dataDir,
    DEMO: 'empty',
    PORT: String(ports[0]),
    TEMPORAL_PORT: String(ports[1]),
    TEMPORAL_UI_PORT: String(ports[2]),
    POSTGRES_PORT: String(ports[3]),
    NODE_OPTIONS: `--import=${new URL('chaos/stepped-clock.ts', import.meta.url).href}`,
    CLOCKS_DIR: clocksDir,
  },
});
if (product.pid !== undefined) stopAtEnd({ pid: product.pid }, 'SIGTERM');
product.stdout.on('data', (text: Buffer) =>
  process.stdout.write(text.toString().replace(/svc_\w+/g, 'svc_…')),
);

const say = (text: string): void =>
  void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const pidOf = (part: string): number => {
  const pid = livePid(path.join(dataDir, 'run', `${part}.pid`));
  if (pid === null) throw new Error(`${part} is not running`);
  return pid;
};

try {
  await until(() => fetch(`http://localhost:${ports[0]}/readyz`).then(({ ok }) => ok), START_MS);
  await until(async () => readFileSync(path.join(dataDir, 'demo.json')).length > 0, START_MS);
  process.exitCode = (await (values.messages === undefined ? run() : everything())) ? 0 : 1;
} finally {
  product.kill('SIGINT');
  if (product.exitCode === null) await once(product, 'exit');
  if (process.exitCode === 0) removeTemporaryFolder(dataDir);
  else {
    keepFolder(dataDir);
    say(`the data and the logs are kept in ${dataDir}`);
  }
}

function everything(): Promise<boolean> {
  return runEverything({
    demo: readDemo(),
    messages: Number(values.messages),
    kills: Number(values.kills),
    seed: Number(values.seed),
    pidOf,
    clocksDir,
    say,
  });
}

function readDemo(): Demo {
  return JSON.parse(readFileSync(path.join(dataDir, 'demo.json'), 'utf8')) as Demo;
}

async function run(): Promise<boolean> {
  const demo = readDemo();
  const api = async (method: string, route: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(demo.baseUrl + route, {
      method,
      headers: {
        authorization: `Bearer ${demo.workspaceKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      signal: AbortSignal.timeout(30_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status >= 500 || response.status === 429)
      throw new Error(`the response was ${response.status}`);
    return { status: response.status, body: (await response.json()) as Record<string, never> };
  };
  for (const lineId of demo.lineIds) await api('PATCH', `/api/lines/${lineId}`, RELAXED);

  const chaos = values.scenario === 'temporal' ? freezeTemporal() : killEverything();
  const numbers = Array.from(
    { length: DRIPS },
    (_, n) => `+1${305 + Math.floor(n / 7000)}${200 + (Math.floor(n / 10) % 700)}${5000 + (n % 4000)}`,
  );
  let acceptedFirst = 0;
  let repeated = 0;
  const started = Date.now();
  await inParallel(numbers, 8, async (to) => {
    // Spread over at least 15 seconds, so that requests are in flight when things break.
    await pause((8 * 15_000) / DRIPS);
    for (let tries = 0; ; tries++) {
      try {
        // A request without a response is retried with the same Idempotency-Key.
        const { status } = await api(
          'POST',
          '/api/drip',
          { message: `Chaos for ${to}`, recipientPhone: to },
          { 'idempotency-key': to },
        );
        if (status !== 202 && status !== 200) throw new Error(`unexpected ${status}`);
        if (tries === 0) acceptedFirst += 1;
        else repeated += 1;
        return;
      } catch (error) {
        if (tries > 100) throw error;
        await pause(300);
      }
    }
  });
  say(`${acceptedFirst} drips accepted at once, ${repeated} after asking again, in ${seconds(started)} s`);
  await chaos;

  const log = async (): Promise<Map<string, number>> => {
    const { messages } = (await fetch(`${demo.baseUrl}/simulated/carrier/sent`).then((answer) =>
      answer.json(),
    )) as { messages: { to?: string; text: string }[] };
    const counts = new Map<string, number>();
    for (const { text } of messages) counts.set(text, (counts.get(text) ?? 0) + 1);
    return counts;
  };
  let counts = new Map<string, number>();
  await until(async () => {
    counts = await log();
    say(`${counts.size} of ${DRIPS} at the carrier`);
    await pause(10_000);
    return counts.size >= DRIPS;
  }, SETTLE_MS).catch(() => say('gave up waiting'));
  // A doubled message would arrive soon.
  await pause(15_000);
  counts = await log();
  const lost = DRIPS - counts.size;
  const doubled = [...counts.values()].filter((count) => count > 1).length;
  say(
    `scenario ${values.scenario}: ${DRIPS} drips, ${lost} lost, ${doubled} doubled, ${seconds(started)} s in all`,
  );
  return lost === 0 && doubled === 0;
}

async function freezeTemporal(): Promise<void> {
  await pause(1000);
  const pid = pidOf('temporal');
  process.kill(pid, 'SIGSTOP');
  say('Temporal stopped');
  await pause(OUTAGE_MS);
  process.kill(pid, 'SIGCONT');
  say('Temporal is back');
}

async function killEverything(): Promise<void> {
  for (const wait of [3000, 90_000]) {
    for (const part of ['api', 'worker', 'postgres']) {
      await pause(wait === 3000 ? wait : 20_000);
      await until(async () => pidOf(part) > 0, 60_000);
      process.kill(pidOf(part), 'SIGKILL');
      say(`${part} killed`);
    }
    await pause(wait);
  }
}

function seconds(since: number): number {
  return Math.round((Date.now() - since) / 1000);
}
