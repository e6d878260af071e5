import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../../providers/free-port.ts';
import { startProcess } from '../../test/support/process.ts';
import { MEMORY_VARIABLES } from '../../workers/node-flags.ts';
import { residentMb } from './support/memory.ts';
import { LINEPACE, report, type Row } from './support/rows.ts';
import { startServers } from './support/servers.ts';

/**
 * Measures how long a new API process takes to answer, and how much memory idle processes hold, beside a bare Koa server
 * with a pool. `npm run bench -- start [--rounds 5 --idle 150]`, with the seconds of idleness.
 *
 * V8 keeps the memory that loading the modules took until it has collected no garbage for 100 seconds; a look before that
 * measures the start, not idleness.
 */
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, idle: { type: 'string', default: '150' } },
});
const ROUNDS = Number(options.rounds);
const BARE = 'Koa + one insert';
/** The ratios to reach. */
const GOALS = { start: 2.5, memory: 1.5 };

const { config, ownerUrl, folder, stop } = await startServers();
// The settings of the image and of `npm start`.
process.env['NODE_COMPILE_CACHE'] = join(folder, 'compile-cache');
Object.assign(process.env, MEMORY_VARIABLES);
// What the image starts.
execFileSync(process.execPath, ['api/bundle.ts']);
execFileSync(process.execPath, [
  '--input-type=module',
  '--eval',
  `await import('./api/dist/server.js'); await import('./workers/worker.ts'); process.exit();`,
]);

/** @returns milliseconds from the start of the process to its first response. */
async function firstResponse(
  start: (port: number) => Promise<{ port: number; kill(): unknown }>,
): Promise<number> {
  const port = await freePort();
  const began = performance.now();
  const process = await start(port);
  await (await fetch(`http://127.0.0.1:${process.port}/healthz`)).text();
  const took = performance.now() - began;
  await process.kill();
  return took;
}

async function startBare(): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(
    new URL('intake/stand-in.ts', import.meta.url),
    ['one insert', JSON.stringify({ databaseUrl: ownerUrl, redisUrl: null, peers: null })],
    { execArgv: [] },
  );
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, port };
}

const started: number[] = [];
const bareStarted: number[] = [];
const memory: Record<'api' | 'worker' | 'bare', number[]> = { api: [], worker: [], bare: [] };
try {
  // The first round warms up the caches of the disk.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const product = await firstResponse(async (port) => ({
      ...(await startProcess('api/dist/server.js', config, port)),
      port,
    }));
    const bare = await firstResponse(async () => {
      const { child, port } = await startBare();
      return { port, kill: () => child.kill() };
    });
    if (round === 0) continue;
    started.push(product);
    bareStarted.push(bare);
  }
  const [api, worker, bare] = await Promise.all([
    startProcess('api/dist/server.js', config, await freePort()),
    startProcess('workers/worker.ts', config),
    startBare(),
  ]);
  await pause(Number(options.idle) * 1000);
  for (let round = 0; round < ROUNDS; round += 1) {
    memory.api.push(residentMb(api.pid));
    memory.worker.push(residentMb(worker.pid));
    memory.bare.push(residentMb(bare.child.pid ?? 0));
    await pause(1000);
  }
  bare.child.kill();
  await Promise.all([api.kill(), worker.kill()]);
} finally {
  await stop();
}

const start = { work: 'a new process, until its first response', unit: 'ms', more: false };
const idle = { work: 'memory of an idle API process', unit: 'MB', more: false };
const rows: Row[] = [
  { ...start, subject: LINEPACE, values: started },
  { ...start, subject: BARE, values: bareStarted, goal: GOALS.start },
  { ...idle, subject: LINEPACE, values: memory.api },
  { ...idle, subject: BARE, values: memory.bare, goal: GOALS.memory },
  { ...idle, work: 'memory of an idle worker', subject: LINEPACE, values: memory.worker, goal: 250 },
];
await report(rows);
