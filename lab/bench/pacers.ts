import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb, withTenant } from '../../db/connection/transactions.ts';
import { wake } from '../../db/wakes/wakes.ts';
import { newId } from '../../domain/base/ids.ts';
import { createTemporalClient } from '../../providers/temporal.ts';
import { linePacerId } from '../../workflows/protocol/workflow-ids.ts';
import { billableActions } from '../../test/support/actions.ts';
import { startProduct } from './support/product.ts';
import { LINEPACE, report, type Row } from './support/rows.ts';
import { COUNTED, countStatements } from './support/statements.ts';
import { usageOf } from './support/usage.ts';
import { inParallel } from './support/waiting.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures how many lines one worker handles: `npm run bench -- pacers [--lines 10000 --each 2 --statements 40 --idle 60]`. Prints
 * throughput, memory, processor time, statements, commits, WAL and billable actions for all lines sending at once, with `each` messages per line, and then for
 * all of them idle. API and worker are separate processes. `npm run bench -- cost` measures the cost of single lines.
 */
const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '10000' },
    each: { type: 'string', default: '2' },
    statements: { type: 'string', default: '0' },
    idle: { type: 'string', default: '60' },
  },
});
const LINES = Number(values.lines);
const EACH = Number(values.each);
const PROGRESS_MS = 10_000;
const IDLE_MS = Number(values.idle) * 1000;
/** Lines whose complete histories are read. */
const SAMPLE = 50;

const product = await startProduct(1, {}, COUNTED);
const counter = await countStatements(product.ownerUrl);
const { pools, config, pids } = product;
const db = systemDb(pools);
const temporal = createTemporalClient(config.temporal);
const run = (query: Parameters<typeof db.query>[0]) => db.query(query);
const clock = (): string => new Date().toISOString().slice(11, 19);

try {
  await manyLines();
} finally {
  await counter.close();
  await temporal.connection.close();
  await product.stop();
}

async function manyLines(): Promise<void> {
  const messages = LINES * EACH;
  const { id, lineIds } = await createBenchWorkspace(pools, LINES);
  await insertDueMessages(id, lineIds, EACH);
  const workBefore = await counter.read();
  await counter.reset();
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const before = usageOf(pids);
  let shown = 0;
  let [delivered, peak] = [0, before];
  const woken = wakeAll(id, lineIds).then(() =>
    console.log(`${clock()} all woken after ${seconds().toFixed(0)} s`),
  );
  for (; delivered < messages; await pause(500)) {
    // More often towards the end, where the throughput is measured.
    const interval = messages - delivered < Math.max(messages / 20, 1000) ? PROGRESS_MS / 10 : PROGRESS_MS;
    if (performance.now() - shown < interval) continue;
    const [last, since] = [delivered, shown];
    delivered = await count(id, 'delivered');
    shown = performance.now();
    const usage = usageOf(pids);
    peak = { ...usage, worker: usage.worker.mb > peak.worker.mb ? usage.worker : peak.worker };
    const rate = since === 0 ? 0 : ((delivered - last) / (shown - since)) * 1000;
    console.log(
      `${clock()} ${delivered} of ${messages} delivered, ${rate.toFixed(0)}/s, worker ${usage.worker.mb} MB`,
    );
  }
  await woken;
  console.log(
    `${LINES} lines with ${EACH} messages each: ${seconds().toFixed(0)} s, ${(messages / seconds()).toFixed(1)} messages/s`,
  );
  console.log(
    `  memory: worker at most ${peak.worker.mb} MB, API ${usageOf(pids).api.mb} MB; before: ${before.worker.mb} and ${before.api.mb} MB`,
  );
  reportCpu(before, 'per message', messages / 1000, 'ms');
  const took = seconds();
  const used = usageOf(pids);
  const done = await counter.read();
  const of = (name: 'commits' | 'wal'): number => (done[name] - workBefore[name]) / messages;
  console.log(
    `  per message: ${(done.statements / messages).toFixed(1)} statements, ${of('commits').toFixed(1)} commits, ${(of('wal') / 1024).toFixed(1)} kB of WAL`,
  );
  await counter.list(Number(values.statements), messages);
  const sampled = await Promise.all(lineIds.slice(0, SAMPLE).map((lineId) => events(linePacerId(lineId))));
  showEvents(`  ${SAMPLE} of their pacers`, sampled.flat(), Math.min(LINES, SAMPLE) * EACH);
  const work = `${messages.toLocaleString('en')} messages sent by ${LINES.toLocaleString('en')} paced lines, one worker`;
  const cpu = Object.values(used).reduce((sum, { cpu }) => sum + cpu, 0);
  const cpuBefore = Object.values(before).reduce((sum, { cpu }) => sum + cpu, 0);
  const row = (what: string, unit: string, value: number, goal?: number): Row => ({
    work: work + what,
    subject: LINEPACE,
    unit,
    more: unit === 'a second',
    values: [value],
    ...(goal !== undefined && { goal }),
  });
  const worker = ((used.worker.cpu - before.worker.cpu) * 1000) / messages;
  await idleLines(lineIds);
  await report([
    row('', 'a second', messages / took, 50),
    row(': processor time of all processes, each', 'ms', ((cpu - cpuBefore) * 1000) / messages, 35),
    row(': processor time of the worker, each', 'ms', worker),
    row(': the worker at most', 'MB', peak.worker.mb, 500),
  ]);
}

async function idleLines(lineIds: readonly string[]): Promise<void> {
  const length = async (): Promise<number> => {
    let sum = 0;
    await inParallel(lineIds, 50, async (lineId) => {
      const { historyLength } = await temporal.workflow.getHandle(linePacerId(lineId)).describe();
      sum += historyLength;
    });
    return sum;
  };
  let before = await length();
  // The last messages are delivered before their pacers have become idle.
  for (let again = -1; again !== before; [again, before] = [before, await length()]) await pause(2000);
  const usage = usageOf(pids);
  await pause(IDLE_MS);
  const used = usageOf(pids);
  console.log(
    `${LINES} idle lines over ${IDLE_MS / 1000} s: ${(await length()) - before} new events; processor time:`,
  );
  reportCpu(usage, 'in all', 1, 's', used);
}

/** Inserts due messages directly, since intake is not measured. */
async function insertDueMessages(
  workspaceId: string,
  lineIds: readonly string[],
  perLine: number,
): Promise<void> {
  let n = 0;
  const rows = lineIds.flatMap((lineId) =>
    Array.from({ length: perLine }, () => [newId(), lineId, plainNumber(n++)]),
  );
  await run(sql.type(z.unknown())`
    insert into messages (workspace_id, id, line_id, address, recipient_phone, channel, status, body, scheduled_at, source)
    select ${workspaceId}, id, line_id, address, address, 'imessage', 'pending', 'Bench', now(), 'api'
    from ${sql.unnest(rows, ['text', 'text', 'text'])} as t (id, line_id, address)`);
}

async function wakeAll(workspaceId: string, lineIds: readonly string[]): Promise<void> {
  await inParallel(lineIds, 20, async (lineId) => {
    await withTenant(pools, workspaceId, async (tenant) =>
      wake(tenant, linePacerId(lineId), new Date(), 'messagesDue'),
    );
  });
}

function count(workspaceId: string, status: string): Promise<number> {
  return db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) "count" from messages where workspace_id = ${workspaceId} and status like ${status}`);
}

async function events(workflowId: string) {
  const { events: list } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  return list ?? [];
}

function reportCpu(
  before: ReturnType<typeof usageOf<keyof typeof pids>>,
  per: string,
  divisor: number,
  unit: string,
  after: ReturnType<typeof usageOf<keyof typeof pids>> = usageOf(pids),
): void {
  const names = Object.keys(pids) as (keyof typeof pids)[];
  const spent = names.map(
    (name) => `${name} ${((after[name].cpu - before[name].cpu) / divisor).toFixed(1)} ${unit}`,
  );
  console.log(`  processor time ${per}: ${spent.join(', ')}`);
}

function showEvents(name: string, list: Awaited<ReturnType<typeof events>>, messages: number): void {
  const actions = billableActions(list);
  console.log(
    `${name}: ${list.length} events, ${actions} actions; per message ${(list.length / messages).toFixed(2)} events, ${(actions / messages).toFixed(2)} actions`,
  );
}

/** A number that selects no special behaviour of the simulated carrier. */
function plainNumber(n: number): string {
  return `+1212${2_000_000 + Math.floor(n / 9000) * 10_000 + 1000 + (n % 9000)}`;
}
