import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { installPeers, startRedis } from './peers.ts';
import { startProduct } from './product.ts';
import { LINEPACE, report, type Row } from './rows.ts';
import { usageOf } from './usage.ts';
import { createBenchWorkspace } from './workspace.ts';

/**
 * Measures `POST /api/drip` over HTTP beside Koa servers that only store the body (`intake/stores.ts`). Rounds alternate,
 * so that other load affects all equally.
 * `npm run bench:intake [-- --rounds 5 --seconds 5 --connections 50 --workspaces 10 --worker --peers]`; with `--worker` the
 * worker drains and sends the drips meanwhile, with `--peers` the queues that people would use instead are measured too.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '50' },
    workspaces: { type: 'string', default: '10' },
    worker: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
  },
});
const [rounds, seconds, connections, workspaces] = [
  values.rounds,
  values.seconds,
  values.connections,
  values.workspaces,
].map(Number) as [number, number, number, number];
const WORK = `drips over HTTP, ${values.worker ? 'everything at work' : 'worker idle'}`;
const BULLMQ = 'BullMQ, fsync always';

interface Result {
  requests: number;
  refused: number;
  p50: number;
  p99: number;
}

interface Subject {
  name: string;
  url: string;
  pid: number;
}

const peers = values.peers ? installPeers() : null;
const redis = peers === null ? null : await startRedis(mkdtempSync(join(tmpdir(), 'linepace-bench-redis-')));
const product = await startProduct();
if (!values.worker) await product.killWorker();
const keys = await Promise.all(
  Array.from({ length: workspaces }, async () => (await createBenchWorkspace(product.pools, 1)).key),
);

const standIns: ChildProcess[] = [];

async function startStandIn(name: string): Promise<Subject> {
  const options = { databaseUrl: product.ownerUrl, redisUrl: redis?.url ?? null, peers };
  const child = fork(new URL('intake/stand-in.ts', import.meta.url), [name, JSON.stringify(options)], {
    execArgv: [],
  });
  standIns.push(child);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { name: `Koa + ${name}`, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0 };
}

async function round(subject: Subject) {
  const pids = { server: subject.pid, postgres: product.pids.postgres };
  const before = usageOf(pids);
  const load = fork(
    new URL('intake/load.ts', import.meta.url),
    [JSON.stringify({ url: subject.url, keys, connections, seconds })],
    { execArgv: [] },
  );
  const [result] = (await once(load, 'message')) as [Result];
  const after = usageOf(pids);
  const ms = (name: keyof typeof pids): number =>
    ((after[name].cpu - before[name].cpu) * 1000) / result.requests;
  if (result.refused > 0) throw new Error(`${subject.name} refused ${result.refused} requests`);
  return {
    'a second': result.requests / seconds,
    'ms, 99 % of responses': result.p99,
    'ms of server processor time': ms('server'),
    'ms of PostgreSQL processor time': ms('postgres'),
  };
}

type Measure = keyof Awaited<ReturnType<typeof round>>;
const MEASURES: Measure[] = [
  'a second',
  'ms, 99 % of responses',
  'ms of server processor time',
  'ms of PostgreSQL processor time',
];

const results = new Map<string, Awaited<ReturnType<typeof round>>[]>();
try {
  const subjects = [{ name: LINEPACE, url: product.urls[0] ?? '', pid: product.pids.api }];
  const beside =
    peers === null ? ['group commit'] : ['group commit', 'one insert', 'pg-boss', 'graphile-worker'];
  for (const name of redis ? [...beside, BULLMQ] : beside) subjects.push(await startStandIn(name));
  // The first round warms up.
  for (let index = 0; index <= rounds; index += 1) {
    for (const subject of subjects) {
      const result = await round(subject);
      console.error(`${subject.name}: ${result['a second'].toFixed(0)} a second`);
      if (index > 0) results.set(subject.name, [...(results.get(subject.name) ?? []), result]);
    }
  }
} finally {
  for (const child of standIns) child.kill();
  redis?.stop();
  await product.stop();
}

const rows: Row[] = MEASURES.flatMap((unit) =>
  [...results].map(([subject, list]) => ({
    work: unit === 'a second' ? WORK : `${WORK}: ${unit}`,
    subject,
    unit: unit === 'a second' ? unit : 'ms',
    more: unit === 'a second',
    values: list.map((result) => result[unit]),
  })),
);
if (peers !== null && redis === null) {
  const note = 'not measured: no redis-server in the PATH';
  const missing = { work: WORK, subject: `Koa + ${BULLMQ}`, unit: 'a second', more: true, values: [], note };
  rows.splice(results.size, 0, missing);
}
await report(rows);
