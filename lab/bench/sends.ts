import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { withTenant } from '../../db/connection/transactions.ts';
import { wake } from '../../db/wakes/wakes.ts';
import { newId } from '../../domain/base/ids.ts';
import { createTemporalClient } from '../../providers/temporal.ts';
import { linePacerId } from '../../workflows/protocol/workflow-ids.ts';
import { billableActions } from '../../test/support/actions.ts';
import { temporaryFolder } from './support/leftovers.ts';
import { installPeers, startRedis } from './support/peers.ts';
import { startProduct } from './support/product.ts';
import { LINEPACE, report } from './support/rows.ts';
import { COUNTED, countStatements, type Work } from './support/statements.ts';
import { usageOf } from './support/usage.ts';
import { inParallel, until } from './support/waiting.ts';
import { createBenchWorkspace, unpaced } from './support/workspace.ts';

/**
 * Measures how fast lines without gaps send, and what a message costs, beside plain workers with the same effects
 * (`sends/floor.ts`), one on PostgreSQL and one on BullMQ. Rounds alternate, so that other load affects both equally.
 * `npm run bench -- sends [--lines 100 --each 30 --rounds 3 --statements 40]`; with `--statements` it lists the statements
 * that take the most time while the product sends.
 */
const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '100' },
    each: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '3' },
    statements: { type: 'string', default: '0' },
  },
});
const [LINES, EACH, ROUNDS, STATEMENTS] = [values.lines, values.each, values.rounds, values.statements].map(
  Number,
) as [number, number, number, number];
const MESSAGES = LINES * EACH;
const WIDTH = 16;

interface Result extends Work {
  sent: number;
  delivered: number;
  cpu: Record<string, number>;
}

const product = await startProduct(1, {}, COUNTED);
const owner = new pg.Client({ connectionString: product.ownerUrl });
await owner.connect();
const counter = await countStatements(product.ownerUrl);
const temporal = createTemporalClient(product.config.temporal);
installPeers();
const redis = await startRedis(temporaryFolder('linepace-bench-redis-'));
const workers: ChildProcess[] = [];

async function startPlainWorker(queue: { redisUrl: string } | null): Promise<ChildProcess> {
  const options = {
    databaseUrl: product.ownerUrl,
    carrierUrl: product.simulatorUrl,
    secret: product.config.simulator?.secret,
    width: WIDTH,
    queue,
  };
  const child = fork(new URL('sends/floor.ts', import.meta.url), [JSON.stringify(options)], { execArgv: [] });
  workers.push(child);
  child.once('exit', (code) => {
    if (code === null) return;
    console.error(`a plain worker ended with ${code}`);
    redis?.stop();
    process.exit(1);
  });
  await once(child, 'message');
  return child;
}

const numberOf = async (text: string): Promise<number> => Number((await owner.query(text)).rows[0].n);

let numbers = 0;
/** A number whose last four digits select no special behavior of the simulated carrier. */
function plainNumber(): string {
  numbers += 1;
  return `+1212${2_000_000 + Math.floor(numbers / 9000) * 10_000 + 1000 + (numbers % 9000)}`;
}

interface Subject {
  pids: Record<string, number>;
  fill(): Promise<void>;
  start(): Promise<void>;
  count(column: 'sent_at' | 'delivered_at'): Promise<number>;
}

async function measure({ pids, fill, start, count }: Subject): Promise<Result> {
  await fill();
  const before = await counter.read();
  const usage = usageOf(pids);
  const began = performance.now();
  const finished = async (column: 'sent_at' | 'delivered_at'): Promise<number> => {
    await until(async () => (await count(column)) === MESSAGES, 600_000);
    return (MESSAGES * 1000) / (performance.now() - began);
  };
  void start();
  const sent = await finished('sent_at');
  const delivered = await finished('delivered_at');
  const used = usageOf(pids);
  const after = await counter.read();
  const each = (name: keyof typeof after): number => (after[name] - before[name]) / MESSAGES;
  return {
    sent,
    delivered,
    cpu: Object.fromEntries(
      Object.keys(used).map((name) => [
        name,
        (((used[name]?.cpu ?? 0) - (usage[name]?.cpu ?? 0)) * 1000) / MESSAGES,
      ]),
    ),
    statements: each('statements'),
    commits: each('commits'),
    wal: each('wal'),
  };
}

const { id: workspaceId, lineIds } = await createBenchWorkspace(product.pools, LINES);
await unpaced(product.pools, workspaceId);
const messagesOf = (): [string[], string[], string[]] => {
  const ids = lineIds.flatMap((lineId) =>
    Array.from({ length: EACH }, () => [newId(), lineId, plainNumber()]),
  );
  return [0, 1, 2].map((at) => ids.map((row) => row[at])) as [string[], string[], string[]];
};

const plainWorker = (child: ChildProcess): Subject => ({
  pids: { worker: child.pid ?? 0, postgres: product.pids.postgres },
  async fill() {
    await owner.query('truncate floor_messages');
    await owner.query(
      `insert into floor_messages (id, line_id, address, body, status)
       select id, line_id, address, 'Bench', 'pending' from unnest($1::text[], $2::text[], $3::text[]) as t (id, line_id, address)`,
      messagesOf(),
    );
    child.send('fill');
    await once(child, 'message');
  },
  start: async () => void child.send('go'),
  count: (column) => numberOf(`select count(${column}) n from floor_messages`),
});

const PLAIN = 'a plain worker';
const BULLMQ = 'a BullMQ worker, fsync always';
const subjects: Record<string, Subject> = {
  [PLAIN]: plainWorker(await startPlainWorker(null)),
  ...(redis && { [BULLMQ]: plainWorker(await startPlainWorker({ redisUrl: redis.url })) }),
  [LINEPACE]: {
    pids: product.pids,
    async fill() {
      last = messagesOf();
      await owner.query('begin');
      await owner.query(`set local app.migrating = 'on'`);
      await owner.query(
        `insert into messages (workspace_id, id, line_id, address, recipient_phone, channel, status, body, scheduled_at, source)
         select $4, id, line_id, address, address, 'imessage', 'pending', 'Bench', now(), 'api'
         from unnest($1::text[], $2::text[], $3::text[]) as t (id, line_id, address)`,
        [...last, workspaceId],
      );
      await owner.query('commit');
    },
    start: () =>
      inParallel(lineIds, 20, async (lineId) => {
        await withTenant(product.pools, workspaceId, async (db) =>
          wake(db, linePacerId(lineId), new Date(), 'messagesDue'),
        );
      }),
    count: async (column) =>
      (
        await owner.query(
          `select count(${column})::int n from messages where workspace_id = $1 and id = any($2)`,
          [workspaceId, last[0]],
        )
      ).rows[0].n,
  },
};
let last: [string[], string[], string[]] = [[], [], []];

const results: Record<string, Result[]> = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
let events = 0;
let actions = 0;
try {
  // The first round warms up.
  for (let index = 0; index <= ROUNDS; index += 1) {
    for (const [name, subject] of Object.entries(subjects)) {
      if (name === LINEPACE) await counter.reset();
      const result = await measure(subject);
      console.error(
        `${name}: sent ${result.sent.toFixed(0)}/s, delivered ${result.delivered.toFixed(0)}/s, ${cpuOf(result)}`,
      );
      if (index > 0) results[name]?.push(result);
      if (name === LINEPACE && index === ROUNDS) await counter.list(STATEMENTS, MESSAGES);
    }
  }
  await inParallel(lineIds, 10, async (lineId) => {
    const history = await temporal.workflow.getHandle(linePacerId(lineId)).fetchHistory();
    events += history.events?.length ?? 0;
    actions += billableActions(history.events ?? []);
  });
  show();
  const row = {
    work: `${MESSAGES.toLocaleString('en')} messages sent by ${LINES} unpaced lines`,
    unit: 'a second',
    more: true,
  };
  await report([
    ...Object.entries(results).map(([subject, list]) => ({
      ...row,
      subject,
      values: list.map(({ sent }) => sent),
      ...(subject === BULLMQ && { goal: 0.7 }),
    })),
    ...(redis
      ? []
      : [{ ...row, subject: BULLMQ, values: [], note: 'not measured: no redis-server in the PATH' }]),
    ...Object.entries(results).map(([subject, list]) => ({
      ...row,
      work: `${row.work}: processor time of all processes, each`,
      subject,
      unit: 'ms',
      more: false,
      values: list.map(({ cpu }) => Object.values(cpu).reduce((sum, ms) => sum + ms, 0)),
    })),
  ]);
} finally {
  for (const child of workers) child.kill();
  redis?.stop();
  await counter.close();
  await owner.end();
  await temporal.connection.close();
  await product.stop();
}

function cpuOf({ cpu }: Result): string {
  return Object.entries(cpu)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`)
    .join(', ');
}

function show(): void {
  const median = (list: number[]): number => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
  console.log(`${LINES} lines without gaps, ${EACH} messages each; medians of ${ROUNDS} rounds, per message`);
  console.log('| | sent/s (least to most) | delivered/s | processor time | statements | commits | WAL |');
  console.log('| - | - | - | - | - | - | - |');
  for (const [name, list] of Object.entries(results)) {
    const of = (key: 'sent' | 'delivered' | 'statements' | 'commits' | 'wal') =>
      median(list.map((one) => one[key]));
    const rates = list.map(({ sent }) => sent);
    const cpu = Object.fromEntries(
      Object.keys(list[0]?.cpu ?? {}).map((key) => [key, median(list.map((one) => one.cpu[key] ?? 0))]),
    );
    console.log(
      `| ${name} | ${of('sent').toFixed(0)} (${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)}) | ${of('delivered').toFixed(0)} | ${cpuOf({ cpu } as Result)} | ${of('statements').toFixed(1)} | ${of('commits').toFixed(1)} | ${(of('wal') / 1024).toFixed(1)} kB |`,
    );
  }
  const ratios = (results[LINEPACE] ?? []).map((one, at) => one.sent / (results[PLAIN]?.[at]?.sent ?? 1));
  console.log(
    `The product sends ${median(ratios).toFixed(2)} of the plain worker (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}).`,
  );
  const total = MESSAGES * (ROUNDS + 1);
  console.log(
    `Temporal: ${(events / total).toFixed(2)} events and ${(actions / total).toFixed(2)} actions per message.`,
  );
}
