import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { withTenant } from '../../db/connection/transactions.ts';
import { startProcess } from '../../test/support/process.ts';
import { LINEPACE, median, report } from './support/rows.ts';
import { startServers } from './support/servers.ts';
import { usageOf } from './support/usage.ts';
import { createWebhookLoad, quantile, type WebhookLoad } from './support/webhook-load.ts';

/**
 * Measures what hanging endpoints cost the others: the same events to the same endpoints, without and with hanging ones
 * in the same workspace. Then measures how fast a backlog is delivered, to all of them and to a slow one. The worker is a
 * separate process and each endpoint its own origin. Latency is the time from the commit of an event to its arrival.
 */
const { values: options } = parseArgs({
  options: {
    endpoints: { type: 'string', default: '200' },
    hanging: { type: 'string', default: '20' },
    events: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '3' },
    'per-second': { type: 'string', default: '2' },
    burst: { type: 'string', default: '50' },
    slow: { type: 'string', default: '5000' },
    'answer-ms': { type: 'string', default: '200' },
  },
});
const [ENDPOINTS, HANGING] = [Number(options.endpoints), Number(options.hanging)];
const HEALTHY = ENDPOINTS - HANGING;

interface Endpoint {
  url: string;
  /** When each event arrived, by the id of its message. */
  arrivals: Map<string, number>;
}

const servers: Server[] = [];

async function startEndpoint(hangs: boolean, answerMs = 0): Promise<Endpoint> {
  const arrivals = new Map<string, number>();
  const server = createServer((request, response) => {
    const at = performance.now();
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      arrivals.set(/"messageId":"(\w+)"/.exec(body)?.[1] ?? '', at);
      if (!hangs) setTimeout(() => response.writeHead(204).end(), answerMs);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, arrivals };
}

/** Emits events at a steady rate. @returns the latencies of all deliveries to the healthy endpoints. */
async function steady(load: WebhookLoad, hanging: readonly Endpoint[]): Promise<number[]> {
  const healthy = await Promise.all(Array.from({ length: HEALTHY }, () => startEndpoint(false)));
  const workspaceId = await load.createWorkspace([...healthy, ...hanging]);
  const emitted: { messageId: string; at: number }[] = [];
  const started = performance.now();
  for (let index = 0; index < Number(options.events); index += 1) {
    await pause(Math.max(0, started + (index * 1000) / Number(options['per-second']) - performance.now()));
    emitted.push(await load.emit(workspaceId));
  }
  await arrived(healthy, emitted.length);
  // Deletes the pending deliveries to hanging endpoints before the next round.
  await withTenant(load.pools, workspaceId, (db) =>
    db.query(sql.type(z.unknown())`delete from webhooks where workspace_id = ${workspaceId}`),
  );
  return healthy.flatMap(({ arrivals }) =>
    emitted.map(({ messageId, at }) => (arrivals.get(messageId) ?? Infinity) - at),
  );
}

/** Emits many events at once. @returns deliveries per second from the first commit to the last arrival. */
async function burst(load: WebhookLoad): Promise<number> {
  const healthy = await Promise.all(Array.from({ length: HEALTHY }, () => startEndpoint(false)));
  const workspaceId = await load.createWorkspace(healthy);
  const started = performance.now();
  const emitted = await Promise.all(
    Array.from({ length: Number(options.burst) }, () => load.emit(workspaceId)),
  );
  await arrived(healthy, emitted.length);
  return (healthy.length * emitted.length * 1000) / (performance.now() - started);
}

/** Emits many events at once to one slow endpoint. @returns deliveries per second. */
async function slow(load: WebhookLoad, events: number): Promise<number> {
  const endpoint = await startEndpoint(false, Number(options['answer-ms']));
  const workspaceId = await load.createWorkspace([endpoint]);
  const started = performance.now();
  await load.emitMany(workspaceId, events);
  await arrived([endpoint], events);
  return (events * 1000) / (performance.now() - started);
}

async function arrived(endpoints: readonly Endpoint[], events: number): Promise<void> {
  const end = performance.now() + 120_000;
  while (!endpoints.every(({ arrivals }) => arrivals.size >= events)) {
    if (performance.now() > end) throw new Error('deliveries are missing after two minutes');
    await pause(20);
  }
}

const { config, stop, pids } = await startServers();
const load = await createWebhookLoad(config);
const worker = await startProcess('workers/worker.ts', config);
try {
  await steady(load, []); // Warms up what compiles and connects on first use.
  const hanging = await Promise.all(Array.from({ length: HANGING }, () => startEndpoint(true)));
  const alone: number[] = [];
  const beside: number[] = [];
  // Alternates both, so that other load affects them equally.
  for (let round = 0; round < Number(options.rounds); round += 1) {
    alone.push(...(await steady(load, [])));
    beside.push(...(await steady(load, hanging)));
  }
  const processes = { worker: worker.pid, postgres: pids.postgres };
  const speeds: number[] = [];
  const slowly: number[] = [];
  const cpu = { worker: 0, postgres: 0 };
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const before = usageOf(processes);
    speeds.push(await burst(load));
    const used = usageOf(processes);
    for (const name of ['worker', 'postgres'] as const) cpu[name] += used[name].cpu - before[name].cpu;
    slowly.push(await slow(load, Number(options.slow)));
  }
  const deliveries = HEALTHY * Number(options.burst) * Number(options.rounds);
  const ms = (name: keyof typeof processes): string => ((cpu[name] * 1000) / deliveries).toFixed(2);
  console.log(
    `${HEALTHY} endpoints that answer, ${options.rounds} times ${options.events} events at ${options['per-second']} per second`,
  );
  for (const [name, part] of [
    ['median', 0.5],
    ['95 %', 0.95],
    ['99 %', 0.99],
  ] as const) {
    const [without, with_] = [quantile(alone, part), quantile(beside, part)];
    const ratio = (with_ / without).toFixed(2);
    console.log(
      `${name}: ${without.toFixed(0)} ms alone, ${with_.toFixed(0)} ms beside ${HANGING} that hang: ratio ${ratio}`,
    );
  }
  console.log(
    `a burst of ${options.burst} events: ${median(speeds).toFixed(0)} deliveries per second; each takes ${ms('worker')} ms of processor time of the worker and ${ms('postgres')} ms of PostgreSQL`,
  );
  console.log(
    `${options.slow} events to one endpoint that answers after ${options['answer-ms']} ms: ${median(slowly).toFixed(0)} deliveries per second`,
  );
  const work = `deliveries of webhooks to ${HEALTHY} endpoints`;
  const toOne = `deliveries of webhooks to one endpoint that answers after ${options['answer-ms']} ms`;
  await report([
    { work, subject: LINEPACE, unit: 'a second', more: true, values: speeds, goal: 2000 },
    { work: toOne, subject: LINEPACE, unit: 'a second', more: true, values: slowly, goal: 300 },
  ]);
} finally {
  await worker.kill();
  await load.close();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await stop();
}
