import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { startProduct } from './product.ts';
import { usageOf } from './usage.ts';
import { createBenchWorkspace } from './workspace.ts';

/**
 * Measures `POST /api/drip` over HTTP against a minimal durable intake (`intake/floor.ts`). Rounds alternate, so that other
 * load affects both equally. `npm run bench:intake [-- --rounds 5 --seconds 5 --connections 50 --workspaces 10 --worker]`;
 * with `--worker` the worker drains and sends the drips meanwhile.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '50' },
    workspaces: { type: 'string', default: '10' },
    worker: { type: 'boolean', default: false },
  },
});
const [rounds, seconds, connections, workspaces] = [
  values.rounds,
  values.seconds,
  values.connections,
  values.workspaces,
].map(Number) as [number, number, number, number];

interface Result {
  requests: number;
  refused: number;
  p50: number;
  p99: number;
}

const product = await startProduct();
if (!values.worker) await product.killWorker();
const keys = await Promise.all(
  Array.from({ length: workspaces }, async () => (await createBenchWorkspace(product.pools, 1)).key),
);
const floor = fork(new URL('intake/floor.ts', import.meta.url), [product.ownerUrl], {
  execArgv: [],
});
const [{ port }] = (await once(floor, 'message')) as [{ port: number }];
const subjects = [
  { name: 'floor', url: `http://127.0.0.1:${port}`, pid: floor.pid ?? 0 },
  { name: 'product', url: product.urls[0] ?? '', pid: product.pids.api },
];

async function round(subject: (typeof subjects)[number]) {
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
  return { ...result, perSecond: result.requests / seconds, server: ms('server'), postgres: ms('postgres') };
}

const results = new Map<string, Awaited<ReturnType<typeof round>>[]>(subjects.map(({ name }) => [name, []]));
try {
  // The first round warms up.
  for (let index = 0; index <= rounds; index += 1) {
    for (const subject of subjects) {
      const result = await round(subject);
      console.error(`${subject.name}: ${result.perSecond.toFixed(0)}/s, p99 ${result.p99.toFixed(0)} ms`);
      if (result.refused > 0) throw new Error(`${subject.name} refused ${result.refused} requests`);
      if (index > 0) results.get(subject.name)?.push(result);
    }
  }
} finally {
  floor.kill();
  await product.stop();
}

const median = (numbers: number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
console.log(
  '| | requests/s (least to most) | p50 ms | p99 ms | server ms | PostgreSQL ms |\n| - | - | - | - | - | - |',
);
for (const [name, list] of results) {
  const of = (key: 'perSecond' | 'p50' | 'p99' | 'server' | 'postgres'): number[] =>
    list.map((one) => one[key]);
  const rate = of('perSecond');
  console.log(
    `| ${name} | ${median(rate).toFixed(0)} (${Math.min(...rate).toFixed(0)} to ${Math.max(...rate).toFixed(0)}) | ` +
      `${median(of('p50')).toFixed(1)} | ${median(of('p99')).toFixed(1)} | ${median(of('server')).toFixed(2)} | ${median(of('postgres')).toFixed(2)} |`,
  );
}
const ratio = median(
  (results.get('product') ?? []).map(
    (one, index) => one.perSecond / (results.get('floor')?.[index]?.perSecond ?? 1),
  ),
);
console.log(`The product takes ${ratio.toFixed(2)} of the floor.`);
