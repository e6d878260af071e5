import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawBars } from './support/bars.ts';
import { type Row, summary } from './support/rows.ts';

/**
 * Runs the benchmarks one after the other, beside the peers and the least that the same work can cost, and writes the
 * table and the picture of docs/benchmarks.md. `npm run bench [-- --rows intake,sends --scale 0.1]`: some of the benchmarks,
 * at a tenth of their size. Results are kept in .data/bench, so that the page shows the newest ones of every benchmark.
 */
interface Benchmark {
  script: string;
  /** @param scaled shrinks a size by `--scale`. */
  arguments(scaled: (size: number) => string): string[];
}

const BENCHMARKS: Record<string, Benchmark> = {
  latency: { script: 'latency.ts', arguments: (scaled) => ['--each', scaled(100)] },
  day: {
    script: 'day.ts',
    arguments: (scaled) => ['--lines', scaled(300), '--each', scaled(40), '--starts', scaled(1000)],
  },
  intake: { script: 'intake.ts', arguments: (scaled) => ['--peers', '--seconds', scaled(10)] },
  'intake-at-work': {
    script: 'intake.ts',
    arguments: (scaled) => ['--worker', '--seconds', scaled(10), '--steady', scaled(600)],
  },
  sends: { script: 'sends.ts', arguments: (scaled) => ['--each', scaled(30)] },
  pacers: { script: 'pacers.ts', arguments: (scaled) => ['--lines', scaled(10_000), '--each', '1'] },
  webhooks: {
    script: 'webhooks.ts',
    arguments: (scaled) => [
      '--hanging',
      '0',
      '--events',
      '10',
      '--burst',
      scaled(50),
      '--slow',
      scaled(5000),
    ],
  },
  campaign: {
    script: 'campaign.ts',
    arguments: (scaled) => ['--enter-only', '--kills', '0', '--leads', scaled(100_000)],
  },
  'campaign-kills': {
    script: 'campaign.ts',
    arguments: (scaled) => ['--enter-only', '--kills', '5', '--leads', scaled(100_000)],
  },
  import: { script: 'import.ts', arguments: (scaled) => ['--rows', scaled(1_000_000)] },
  analytics: { script: 'analytics.ts', arguments: (scaled) => ['--messages', scaled(10_000_000)] },
  reads: {
    script: 'reads.ts',
    arguments: (scaled) => ['--messages', scaled(10_000_000), '--leads', scaled(1_000_000)],
  },
  inbox: {
    script: 'console.ts',
    arguments: (scaled) => [
      '--list',
      'inbox',
      '--rows',
      scaled(100_000),
      '--rounds',
      scaled(60),
      '--seconds',
      '0',
    ],
  },
  start: { script: 'start.ts', arguments: () => [] },
};

const PAGE = 'docs/benchmarks.md';
const PICTURE = 'docs/images/benchmarks.svg';
const RESULTS = '.data/bench';
const [BEGIN, END] = ['<!-- npm run bench -->', '<!-- end -->'];

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: Object.keys(BENCHMARKS).join() },
    scale: { type: 'string', default: '1' },
  },
});
const SCALE = Number(options.scale);
const scaled = (size: number): string => String(Math.max(1, Math.round(size * SCALE)));

/** @returns what the benchmark reports. */
async function run(name: string): Promise<Row[]> {
  const benchmark = BENCHMARKS[name];
  if (!benchmark) throw new Error(`there is no ${name}; there are ${Object.keys(BENCHMARKS).join(', ')}`);
  console.error(`\n${name}`);
  const child = fork(new URL(benchmark.script, import.meta.url), benchmark.arguments(scaled), {
    execArgv: [],
  });
  const rows: Row[] = [];
  child.on('message', (message: { rows?: Row[] }) => rows.push(...(message.rows ?? [])));
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  return rows;
}

interface Result {
  rows: Row[];
  /** The machine and the versions with which it was measured. */
  conditions: string;
}

async function measure(name: string): Promise<Result> {
  const before = loadavg()[0] ?? 0;
  const rows = await run(name);
  const load = [before, loadavg()[0] ?? 0].map((value) => value.toFixed(0)).join(' to ');
  const day = new Date().toISOString().slice(0, 10);
  return { rows, conditions: `${day}, load average ${load}${SCALE === 1 ? '' : `, size × ${SCALE}`}` };
}

function page(results: ReadonlyMap<string, Result>): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return [
    `Node ${process.versions.node} on ${cpus().length} cores (${cpus()[0]?.model.trim()}) with ${gigabytes} GB of memory, all processes on the one machine.`,
    summary([...results.values()]),
    '![The medians as bars](images/benchmarks.svg)',
  ].join('\n\n');
}

function write(results: ReadonlyMap<string, Result>): void {
  const [before, rest] = readFileSync(PAGE, 'utf8').split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${PAGE} has no place for the table`);
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${page(results)}\n\n${END}${after}`);
  writeFileSync(PICTURE, drawBars([...results.values()].flatMap(({ rows }) => rows)));
  console.error(`written: ${PAGE}, ${PICTURE}`);
}

const fileOf = (name: string): string => join(RESULTS, `${name}.json`);
mkdirSync(RESULTS, { recursive: true });
for (const name of options.rows.split(',')) {
  try {
    writeFileSync(fileOf(name), JSON.stringify(await measure(name)));
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}
const known = Object.keys(BENCHMARKS).filter((name) => existsSync(fileOf(name)));
write(new Map(known.map((name) => [name, JSON.parse(readFileSync(fileOf(name), 'utf8')) as Result])));
