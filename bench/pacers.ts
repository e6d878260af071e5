import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { startApi } from '#api/server.ts';
import { createPools, systemDb, withTenant } from '#db/pool.ts';
import { requestWake } from '#db/wakes.ts';
import { newId } from '#domain/ids.ts';
import { createTemporalClient, wakeWorkflow } from '#providers/temporal.ts';
import { startSimulator } from '#simulator/server.ts';
import { freePort } from '#standalone/ports.ts';
import { startWorker } from '#workers/worker.ts';
import { dripDrainerId, linePacerId } from '#workflows/messages/wake.ts';
import { billableActions } from './actions.ts';
import { startServers } from './servers.ts';
import { inParallel, until } from './waiting.ts';
import { createBenchWorkspace } from './workspace.ts';

/**
 * What pacing costs in Temporal, and how many lines one worker carries:
 * `npm run bench:pacers [-- --lines 2000 --drips 1000]`. Prints history events and billable actions per message
 * for a line that may send as fast as it can and for a paced one, then all lines at work at once, then all idle.
 */
const { values } = parseArgs({
  options: { lines: { type: 'string', default: '2000' }, drips: { type: 'string', default: '1000' } },
});
const LINES = Number(values.lines);
const DRIPS = Number(values.drips);

const servers = await startServers();
const port = await freePort();
const secret = randomBytes(16).toString('hex');
const publicUrl = `http://localhost:${port}`;
const simulator = await startSimulator({
  port: 0,
  smtpPort: 0,
  dataDir: null,
  callbackBaseUrl: publicUrl,
  secret,
});
const config = { ...servers.config, port, publicUrl, simulator: { url: simulator.url, secret } };
const api = await startApi(config);
const worker = await startWorker(config);
const pools = await createPools(config.databaseUrl, { size: 4 });
const db = systemDb(pools);
const temporal = createTemporalClient(config.temporal);
const run = (query: Parameters<typeof db.query>[0]) => db.query(query);

try {
  await relaxedLine();
  await pacedLine();
  await manyLines();
} finally {
  await worker.stop();
  await api.stop();
  await simulator.stop();
  await pools.close();
  await temporal.connection.close();
  await servers.stop();
}

async function relaxedLine(): Promise<void> {
  const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
  await run(sql.type(
    z.unknown(),
  )`update lines set daily_total_limit = 10000, daily_new_limit = 10000, hourly_new_limit = 10000,
    min_gap_seconds = 0, contact_gap_seconds = 0 where workspace_id = ${id}`);
  const started = performance.now();
  const numbers = Array.from(
    { length: DRIPS },
    (_, n) => `+1415${200 + Math.floor(n / 8000)}${1000 + (n % 8000)}`,
  );
  await inParallel(numbers, 50, async (to) => {
    const answer = await fetch(`${api.url}/api/drip`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'Bench', recipientPhone: to }),
    });
    if (answer.status !== 202) throw new Error(`answered ${answer.status}`);
    await answer.arrayBuffer();
  });
  const accepted = (performance.now() - started) / 1000;
  await until(async () => (await count(id, '%')) === DRIPS);
  const due = performance.now();
  await run(
    sql.type(
      z.unknown(),
    )`update messages set scheduled_at = now() where workspace_id = ${id} and status = 'scheduled'`,
  );
  await wakeAll(id, lineIds);
  await until(async () => (await count(id, 'delivered')) === DRIPS);
  const sent = (performance.now() - due) / 1000;
  console.log(
    `relaxed line, ${DRIPS} drips: accepted ${(DRIPS / accepted).toFixed(0)}/s, sent ${(DRIPS / sent).toFixed(0)}/s`,
  );
  await report('  its pacer', linePacerId(lineIds[0] ?? ''), DRIPS);
  await report('  the drainer', dripDrainerId(id), DRIPS);
}

async function pacedLine(): Promise<void> {
  const messages = 10;
  const { id, lineIds } = await createBenchWorkspace(pools, 1);
  await run(
    sql.type(
      z.unknown(),
    )`update lines set min_gap_seconds = 8, hourly_new_limit = 10000 where workspace_id = ${id}`,
  );
  await queue(id, lineIds, messages);
  await wakeAll(id, lineIds);
  await until(async () => (await count(id, 'delivered')) === messages, 300_000);
  console.log(`paced line, ${messages} messages with gaps of 8 s ± 50 %`);
  await report('  its pacer', linePacerId(lineIds[0] ?? ''), messages);
}

async function manyLines(): Promise<void> {
  const { id, lineIds } = await createBenchWorkspace(pools, LINES);
  await queue(id, lineIds, 1);
  const started = performance.now();
  await wakeAll(id, lineIds);
  await until(async () => (await count(id, 'delivered')) === LINES, 900_000);
  const seconds = (performance.now() - started) / 1000;
  const memory = process.memoryUsage();
  console.log(
    `${LINES} lines with one message each: ${seconds.toFixed(0)} s, ${(LINES / seconds).toFixed(0)} messages/s; ` +
      `this process (API, worker and simulator) ${Math.round(memory.rss / 2 ** 20)} MB`,
  );
  const before = await Promise.all(lineIds.slice(0, 50).map((lineId) => events(linePacerId(lineId))));
  await pause(20_000);
  const after = await Promise.all(lineIds.slice(0, 50).map((lineId) => events(linePacerId(lineId))));
  const grown = after.filter((list, index) => list.length !== before[index]?.length).length;
  console.log(`${LINES} idle lines: of 50 looked at, ${grown} had a new event within 20 s`);
}

/** Messages that are due, straight into the tables: what is measured is what comes after. */
async function queue(workspaceId: string, lineIds: readonly string[], perLine: number): Promise<void> {
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
    await withTenant(pools, workspaceId, (tenant) => requestWake(tenant, linePacerId(lineId), new Date()));
    await wakeWorkflow(temporal, linePacerId(lineId), workspaceId);
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

async function report(name: string, workflowId: string, messages: number): Promise<void> {
  const list = await events(workflowId);
  const actions = billableActions(list);
  console.log(
    `${name}: ${list.length} events, ${actions} actions; per message ${(list.length / messages).toFixed(2)} events, ${(actions / messages).toFixed(2)} actions`,
  );
}

/** A number whose last four digits ask nothing special of the simulated carrier. */
function plainNumber(n: number): string {
  return `+1212${2_000_000 + Math.floor(n / 9000) * 10_000 + 1000 + (n % 9000)}`;
}
