import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb, withTenant } from '../../db/connection/transactions.ts';
import { wakeForMessage } from '../../db/wakes/wakes.ts';
import { newId } from '../../domain/base/ids.ts';
import { createTemporalClient } from '../../providers/temporal.ts';
import { billableActions } from '../../test/support/actions.ts';
import { startEndpoint } from '../../test/support/endpoint.ts';
import { linePacerId, webhookDispatcherId } from '../../workflows/protocol/workflow-ids.ts';
import { heartbeatsSoFar } from './support/actions.ts';
import { contactNumber } from './support/callers.ts';
import { startProduct } from './support/product.ts';
import { LINEPACE, report, type Row } from './support/rows.ts';
import { usageOf } from './support/usage.ts';
import { inParallel, until } from './support/waiting.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures what a day of paced lines costs, with receipts and one webhook, beside a plain Temporal workflow for each line
 * (`day/plain-workflow.ts`): processor time of all processes, history events and actions. Messages come in one by one and wait for their
 * gaps; the hours without any are left out. Then the same for lines with one message each, which starts their workflows.
 * `npm run bench -- day [--lines 300 --each 40 --gap 20 --starts 1000 --rounds 1]`
 */
const { values: options } = parseArgs({
  options: {
    lines: { type: 'string', default: '300' },
    each: { type: 'string', default: '40' },
    gap: { type: 'string', default: '20' },
    starts: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '1' },
  },
});
const CPU = 'ms of processor time';
const [LINES, EACH, GAP, STARTS, ROUNDS] = [
  options.lines,
  options.each,
  options.gap,
  options.starts,
  options.rounds,
].map(Number) as [number, number, number, number, number];
const PLAIN = 'a plain Temporal workflow for each line';
const EVENTS = ['message.sent', 'message.delivered'] as const;
const TIMEOUT_MS = 3_600_000;

const product = await startProduct();
const { pools, config, simulatorUrl, ownerUrl } = product;
const db = systemDb(pools);
const temporal = createTemporalClient(config.temporal);
const owner = new pg.Client({ connectionString: ownerUrl });
await owner.connect();
const endpoint = await startEndpoint();
let numbered = 0;

interface Subject {
  start(): Promise<Record<string, number>>;
  stop(): Promise<void>;
  /** @returns the ids of new lines. */
  createLines(count: number): Promise<string[]>;
  /** Adds one message to each line. */
  add(lineIds: readonly string[]): Promise<void>;
  /** The workflows of the lines, and of their webhook. */
  workflowsOf(lineIds: readonly string[]): string[];
}

let workspaceId = '';
const linepace: Subject = {
  async start() {
    await product.startWorker();
    return product.pids;
  },
  stop: () => product.killWorker(),
  async createLines(count) {
    const { id, key, lineIds } = await createBenchWorkspace(pools, count);
    workspaceId = id;
    await db.query(sql.type(z.unknown())`
      update lines set min_gap_seconds = ${GAP}, hourly_new_limit = 10000 where workspace_id = ${id}`);
    const response = await fetch(`${config.publicUrl}/api/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: endpoint.url, events: EVENTS }),
    });
    if (!response.ok) throw new Error(`the webhook was refused with ${response.status}`);
    return lineIds;
  },
  async add(lineIds) {
    const rows = lineIds.map((lineId) => [newId(), lineId, contactNumber((numbered += 1))]);
    await db.query(sql.type(z.unknown())`
      insert into messages (workspace_id, id, line_id, address, recipient_phone, channel, status, body, scheduled_at, source)
      select ${workspaceId}, id, line_id, address, address, 'imessage', 'pending', 'Bench', now(), 'api'
      from ${sql.unnest(rows, ['text', 'text', 'text'])} as t (id, line_id, address)`);
    await inParallel(lineIds, 8, (lineId) =>
      withTenant(pools, workspaceId, async (tenant) =>
        wakeForMessage(tenant, lineId, { scheduledAt: new Date(), isNew: true }),
      ),
    );
  },
  workflowsOf: (lineIds) => [...lineIds.map(linePacerId), webhookDispatcherId(workspaceId)],
};

let child: ChildProcess | undefined;
const plain: Subject = {
  async start() {
    const { address } = config.temporal;
    const secret = config.simulator?.secret;
    const settings = {
      databaseUrl: ownerUrl,
      carrierUrl: simulatorUrl,
      secret,
      webhookUrl: endpoint.url,
      address,
    };
    child = fork(new URL('day/plain-worker.ts', import.meta.url), [JSON.stringify(settings)], {
      execArgv: [],
    });
    await once(child, 'message');
    const { postgres, temporal: server } = product.pids;
    return { worker: child.pid ?? 0, postgres, temporal: server };
  },
  async stop() {
    child?.kill();
  },
  createLines: async (count) => Array.from({ length: count }, () => newId()),
  async add(lineIds) {
    const ids = lineIds.map(() => newId());
    await owner.query(
      `insert into floor_messages (id, line_id, address, body, status)
       select id, line_id, address, 'Bench', 'pending' from unnest($1::text[], $2::text[], $3::text[]) as t (id, line_id, address)`,
      [ids, lineIds, lineIds.map(() => contactNumber((numbered += 1)))],
    );
    await inParallel(
      lineIds.map((lineId, index) => [lineId, ids[index] ?? ''] as const),
      8,
      async ([lineId, messageId]) =>
        void (await temporal.workflow.signalWithStart('plainLine', {
          workflowId: `plain:${lineId}`,
          taskQueue: 'plain',
          args: [{ gapMs: GAP * 1000, messages: [], events: [] }],
          signal: 'messageAdded',
          signalArgs: [messageId],
        })),
    );
  },
  workflowsOf: (lineIds) => lineIds.map((lineId) => `plain:${lineId}`),
};

/** All runs of these workflows. */
async function historiesOf(workflowIds: readonly string[]): Promise<{ events: number; actions: number }> {
  const sum = { events: 0, actions: 0 };
  await inParallel(workflowIds, 16, async (workflowId) => {
    for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      sum.events += events?.length ?? 0;
      sum.actions += billableActions(events ?? []);
    }
  });
  return sum;
}

/** Waits for the receipt and the deliveries of every message. */
async function send(subject: Subject, lineIds: readonly string[], each: number): Promise<void> {
  endpoint.received.length = 0;
  for (let index = 0; index < each; index += 1) {
    await subject.add(lineIds);
    // Faster than they are sent, so that all but the first wait for their gaps.
    if (index + 1 < each) await pause((GAP * 1000) / 2);
  }
  const all = lineIds.length * each * EVENTS.length;
  await until(async () => endpoint.received.length >= all, TIMEOUT_MS);
}

/** Per message. @param pids of all processes that work for the subject. */
async function measure(subject: Subject, pids: Record<string, number>, lines: number, each: number) {
  const lineIds = await subject.createLines(lines);
  const cpu = (): number => Object.values(usageOf(pids)).reduce((sum, usage) => sum + usage.cpu, 0);
  const before = { cpu: cpu(), heartbeats: await heartbeatsSoFar(product.temporalMetrics) };
  await send(subject, lineIds, each);
  const used = cpu() - before.cpu;
  const heartbeats = (await heartbeatsSoFar(product.temporalMetrics)) - before.heartbeats;
  const { events, actions } = await historiesOf(subject.workflowsOf(lineIds));
  const messages = lines * each;
  return {
    [CPU]: (used * 1000) / messages,
    events: events / messages,
    actions: (actions + heartbeats) / messages,
  };
}

interface Work {
  work: string;
  lines: number;
  each: number;
  /** By unit. */
  goals: Record<string, number>;
}
const WORKS: Work[] = [
  {
    work: `a paced day of ${LINES} lines, ${EACH} messages each`,
    lines: LINES,
    each: EACH,
    goals: { [CPU]: 0.5, events: 0.5, actions: 0.5 },
  },
  { work: 'a message that starts its pacer', lines: STARTS, each: 1, goals: { [CPU]: 0.8 } },
];
const rows: Row[] = [];
try {
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [name, subject] of Object.entries({ [LINEPACE]: linepace, [PLAIN]: plain })) {
      // Each works alone: what the others poll is not counted.
      if (round === 0 && subject === linepace) await product.killWorker();
      const pids = await subject.start();
      await send(subject, await subject.createLines(20), 1);
      for (const { work, lines, each, goals } of WORKS.filter(({ lines: some }) => some > 0)) {
        const result = await measure(subject, pids, lines, each);
        for (const [unit, value] of Object.entries(result)) {
          console.error(`${name}: ${work}, ${unit} per message: ${value.toFixed(2)}`);
          let row = rows.find(
            (known) => known.work === work && known.unit === unit && known.subject === name,
          );
          if (!row) {
            const goal = name === PLAIN ? goals[unit] : undefined;
            row = {
              work,
              subject: name,
              unit,
              more: false,
              values: [],
              ...(goal !== undefined && { goal }),
            };
            rows.push(row);
          }
          row.values.push(value);
        }
      }
      await subject.stop();
    }
  await report(rows.toSorted((a, b) => `${a.work} ${a.unit}`.localeCompare(`${b.work} ${b.unit}`)));
} finally {
  child?.kill();
  await endpoint.close();
  await owner.end();
  await temporal.connection.close();
  await product.stop();
}
