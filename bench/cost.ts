import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb, withTenant } from '#db/transactions.ts';
import { wake } from '#db/wakes.ts';
import { newId } from '#domain/ids.ts';
import { createTemporalClient } from '#providers/temporal.ts';
import { dripDrainerId, linePacerId } from '#workflows/messages/wake.ts';
import { billableActions } from '#test/support/actions.ts';
import { heartbeatsSoFar } from './actions.ts';
import { startProduct } from './product.ts';
import { inParallel, until } from './waiting.ts';
import { createBenchWorkspace, unpaced } from './workspace.ts';

/**
 * What a message costs in Temporal: `npm run bench:cost [-- --drips 1000 --paced 10 --gaps 8,20 --idle 60]`. Prints the history
 * events and billable actions per message of a line without a gap, of paced lines, of a single message, and of a line
 * that has nothing to do for `idle` seconds. API and worker are processes of their own.
 */
const { values } = parseArgs({
  options: {
    drips: { type: 'string', default: '1000' },
    paced: { type: 'string', default: '10' },
    gaps: { type: 'string', default: '8,20' },
    idle: { type: 'string', default: '60' },
  },
});
const DRIPS = Number(values.drips);
const PACED = Number(values.paced);
const GAPS = values.gaps.split(',').map(Number);
const IDLE_MS = Number(values.idle) * 1000;

let numbered = 0;
const product = await startProduct();
const { pools, config } = product;
const db = systemDb(pools);
const temporal = createTemporalClient(config.temporal);
const run = (query: Parameters<typeof db.query>[0]) => db.query(query);

try {
  if (DRIPS > 0) await bulk();
  for (const gap of GAPS) await paced(gap);
  await single();
} finally {
  await temporal.connection.close();
  await product.stop();
}

async function bulk(): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  await unpaced(pools, id);
  await inParallel(numbers(DRIPS), 50, async (to) => {
    const answer = await fetch(`${config.publicUrl}/api/drip`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'Bench', recipientPhone: to }),
    });
    if (answer.status !== 202) throw new Error(`answered ${answer.status}`);
    await answer.arrayBuffer();
  });
  await until(async () => (await count(id, '%')) === DRIPS);
  const heartbeats = await heartbeatsSoFar(product.temporalMetrics);
  await run(sql.type(z.unknown())`
    update messages set scheduled_at = now() where workspace_id = ${id} and status = 'scheduled'`);
  await wakeLine(id, lineIds[0]);
  await until(async () => (await count(id, 'delivered')) === DRIPS);
  await report(`${DRIPS} drips on a line without a gap: its pacer`, linePacerId(lineIds[0] ?? ''), {
    messages: DRIPS,
    heartbeats,
  });
  await report('  the drainer', dripDrainerId(id), { messages: DRIPS });
}

/** From the start of its pacer until it is idle. */
async function paced(gap: number): Promise<void> {
  const { id, lineIds } = await createBenchWorkspace(pools, 1);
  await run(sql.type(z.unknown())`
    update lines set min_gap_seconds = ${gap}, hourly_new_limit = 10000 where workspace_id = ${id}`);
  const heartbeats = await heartbeatsSoFar(product.temporalMetrics);
  await send(id, lineIds[0], PACED);
  const pacer = linePacerId(lineIds[0] ?? '');
  await report(`${PACED} messages with gaps of ${gap} s ± 50 %: the pacer`, pacer, {
    messages: PACED,
    heartbeats,
  });
  const before = await events(pacer);
  const since = await heartbeatsSoFar(product.temporalMetrics);
  await send(id, lineIds[0], PACED);
  const sent = (await heartbeatsSoFar(product.temporalMetrics)) - since;
  show('  as many again', (await events(pacer)).slice(before.length), { messages: PACED, heartbeats: sent });
}

async function single(): Promise<void> {
  const { id, lineIds } = await createBenchWorkspace(pools, 1);
  const pacer = linePacerId(lineIds[0] ?? '');
  await send(id, lineIds[0], 1);
  await report('one message that starts the pacer', pacer, { messages: 1 });
  const before = await events(pacer);
  await pause(IDLE_MS);
  console.log(`idle for ${values.idle} s: ${(await events(pacer)).length - before.length} events`);
  await send(id, lineIds[0], 1);
  const after = await events(pacer);
  show('one more message', after.slice(before.length), { messages: 1 });
}

/** Queues messages that are due and waits until they are delivered and the pacer has said that nothing is left. */
async function send(workspaceId: string, lineId: string | undefined, messages: number): Promise<void> {
  const sent = await count(workspaceId, 'delivered');
  const rows = numbers(messages).map((to) => [newId(), to]);
  await run(sql.type(z.unknown())`
    insert into messages (workspace_id, id, line_id, address, recipient_phone, channel, status, body, scheduled_at, source)
    select ${workspaceId}, id, ${lineId ?? ''}, address, address, 'imessage', 'pending', 'Bench', now(), 'api'
    from ${sql.unnest(rows, ['text', 'text'])} as t (id, address)`);
  await wakeLine(workspaceId, lineId);
  await until(async () => (await count(workspaceId, 'delivered')) === sent + messages, 600_000);
  await rests(linePacerId(lineId ?? ''));
}

async function wakeLine(workspaceId: string, lineId = ''): Promise<void> {
  await withTenant(pools, workspaceId, async (tenant) =>
    wake(tenant, linePacerId(lineId), new Date(), 'messagesDue'),
  );
}

/** The last message is delivered before its pacer has said that nothing is left. */
async function rests(workflowId: string): Promise<void> {
  await until(async () => {
    const { raw } = await temporal.workflow.getHandle(workflowId).describe();
    return (raw.pendingActivities?.length ?? 0) === 0 && !raw.pendingWorkflowTask;
  });
}

function count(workspaceId: string, status: string): Promise<number> {
  return db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) "count" from messages where workspace_id = ${workspaceId} and status like ${status}`);
}

/** All runs of a workflow: it continues as new. */
async function events(workflowId: string) {
  const all = [];
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const { events: some } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    all.push(...(some ?? []));
  }
  return all;
}

interface Measured {
  messages: number;
  /** Sent by the worker before. */
  heartbeats?: number;
}

async function report(name: string, workflowId: string, { messages, heartbeats }: Measured): Promise<void> {
  const sent = heartbeats === undefined ? 0 : (await heartbeatsSoFar(product.temporalMetrics)) - heartbeats;
  show(name, await events(workflowId), { messages, heartbeats: sent });
}

function show(
  name: string,
  list: Awaited<ReturnType<typeof events>>,
  { messages, heartbeats = 0 }: Measured,
): void {
  const actions = billableActions(list) + heartbeats;
  const per = (total: number): string => (total / messages).toFixed(2);
  console.log(
    `${name}: ${list.length} events, ${actions} actions (${heartbeats} heartbeats); per message ${per(list.length)} events, ${per(actions)} actions`,
  );
}

/** Numbers whose last four digits ask nothing special of the simulated carrier. */
function numbers(n: number): string[] {
  return Array.from({ length: n }, () => `+1212${2_001_000 + numbered++}`);
}
