import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { temporaryFolder } from './support/leftovers.ts';
import { installPeers, startRedis } from './support/peers.ts';
import { startProduct } from './support/product.ts';
import { LINEPACE, report, type Row } from './support/rows.ts';
import { usageOf } from './support/usage.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures `POST /api/drip` over HTTP beside Koa servers that only store the body (`intake/stores.ts`). Rounds alternate,
 * so that other load affects all equally.
 * `npm run bench -- intake [--rounds 5 --seconds 5 --connections 50 --workspaces 10 --worker --peers]`; with `--worker` the
 * worker drains and sends the drips meanwhile. `--peers` also measures the queues that people would use instead.
 * `--steady 600` holds a rate of 1,000 drips per second for 600 seconds.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '50' },
    workspaces: { type: 'string', default: '10' },
    worker: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    steady: { type: 'string', default: '0' },
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
const STEADY_RATE = 1000;
/** The ratios to reach. */
const GOALS: Record<string, number> = {
  'Koa + group commit': values.worker ? 0.3 : 0.5,
  'Koa + pg-boss': 3,
  'Koa + graphile-worker': 3,
  [`Koa + ${BULLMQ}`]: 1.1,
};

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

if (values.peers) installPeers();
const redis = !values.peers ? null : await startRedis(temporaryFolder('linepace-bench-redis-'));
const product = await startProduct();
if (!values.worker) await product.killWorker();
const keys = await Promise.all(
  Array.from({ length: workspaces }, async () => (await createBenchWorkspace(product.pools, 1)).key),
);

const standIns: ChildProcess[] = [];

async function startStandIn(name: string): Promise<Subject> {
  const options = { databaseUrl: product.ownerUrl, redisUrl: redis?.url ?? null };
  const child = fork(new URL('intake/stand-in.ts', import.meta.url), [name, JSON.stringify(options)], {
    execArgv: [],
  });
  standIns.push(child);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { name: `Koa + ${name}`, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0 };
}

async function load(url: string, options: { seconds: number; rate?: number }): Promise<Result> {
  const child = fork(
    new URL('intake/load.ts', import.meta.url),
    [JSON.stringify({ url, keys, connections, ...options })],
    { execArgv: [] },
  );
  const [result] = (await once(child, 'message')) as [Result];
  return result;
}

/** PostgreSQL, or the servers of a cluster. */
const databases = Object.fromEntries(
  Object.entries<number>(product.pids).filter(([name]) => /^(postgres|node )/.test(name)),
);

async function round(subject: Subject) {
  const pids: Record<string, number> = { server: subject.pid, ...databases };
  const before = usageOf(pids);
  const result = await load(subject.url, { seconds });
  const after = usageOf(pids);
  const ms = (...names: string[]): number =>
    names.reduce((sum, name) => sum + (after[name]?.cpu ?? 0) - (before[name]?.cpu ?? 0), 0) *
    (1000 / result.requests);
  if (result.refused > 0) throw new Error(`${subject.name} refused ${result.refused} requests`);
  return {
    'a second': result.requests / seconds,
    'ms, 99 % of responses': result.p99,
    'ms of server processor time': ms('server'),
    'ms of PostgreSQL processor time': ms(...Object.keys(databases)),
  };
}

type Measure = keyof Awaited<ReturnType<typeof round>>;
const MEASURES: Measure[] = [
  'a second',
  'ms, 99 % of responses',
  'ms of server processor time',
  'ms of PostgreSQL processor time',
];

const steady: Row[] = [];
const results = new Map<string, Awaited<ReturnType<typeof round>>[]>();
try {
  const subjects = [{ name: LINEPACE, url: product.urls[0] ?? '', pid: product.pids.api }];
  const beside = !values.peers
    ? ['group commit']
    : ['group commit', 'one insert', 'pg-boss', 'graphile-worker'];
  for (const name of redis ? [...beside, BULLMQ] : beside) subjects.push(await startStandIn(name));
  // The first round warms up.
  for (let index = 0; index <= rounds; index += 1) {
    for (const subject of subjects) {
      const result = await round(subject);
      console.error(`${subject.name}: ${result['a second'].toFixed(0)} a second`);
      if (index > 0) results.set(subject.name, [...(results.get(subject.name) ?? []), result]);
    }
  }
  const steadySeconds = Number(values.steady);
  if (steadySeconds > 0) {
    const result = await load(product.urls[0] ?? '', { seconds: steadySeconds, rate: STEADY_RATE });
    const work = `${WORK}, ${STEADY_RATE.toLocaleString('en')} a second for ${steadySeconds} s`;
    const common = { work, subject: LINEPACE };
    steady.push(
      {
        ...common,
        unit: 'a second',
        more: true,
        values: [result.requests / steadySeconds],
        goal: 0.99 * STEADY_RATE,
      },
      { ...common, unit: 'ms, 99 % of responses', more: false, values: [result.p99], goal: 100 },
    );
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
    ...(unit === 'a second' && GOALS[subject] !== undefined && { goal: GOALS[subject] }),
  })),
);
if (values.peers && redis === null) {
  const note = 'not measured: no redis-server in the PATH';
  const missing = { work: WORK, subject: `Koa + ${BULLMQ}`, unit: 'a second', more: true, values: [], note };
  rows.splice(results.size, 0, missing);
}
await report([...rows, ...steady]);
