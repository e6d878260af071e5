import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../../providers/free-port.ts';
import { startProcess } from '../../test/support/process.ts';
import { startServers } from './support/servers.ts';
import { usageOf } from './support/usage.ts';
import { createWebhookLoad, quantile } from './support/webhook-load.ts';
import { createBenchWorkspace } from './support/workspace.ts';

/**
 * Measures what a thousand event streams cost one API process: its memory and processor time while nothing happens, how
 * long an event takes from its commit to its clients, and what clients that do not read cost.
 */
const { values: options } = parseArgs({
  options: {
    workspaces: { type: 'string', default: '50' },
    each: { type: 'string', default: '20' },
    idle: { type: 'string', default: '10' },
    events: { type: 'string', default: '100' },
    'per-second': { type: 'string', default: '10' },
    stuck: { type: 'string', default: '40' },
    burst: { type: 'string', default: '6000' },
  },
});
const [WORKSPACES, EACH, STUCK] = [options.workspaces, options.each, options.stuck].map(Number) as [
  number,
  number,
  number,
];

interface Client {
  /** When each event arrived, by the id of its message. */
  arrivals: Map<string, number>;
  response: IncomingMessage;
  call: ClientRequest;
}

const { config, pids: serverPids, stop } = await startServers();
const load = await createWebhookLoad(config);
const port = await freePort();
const api = await startProcess('api/server.ts', config, port);
const pids = { api: api.pid, postgres: serverPids.postgres };

async function connect(key: string): Promise<Client> {
  const call = request(`http://127.0.0.1:${port}/api/events/stream`, {
    agent: false,
    headers: { authorization: `Bearer ${key}` },
  });
  call.on('error', () => {}).end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`a stream was answered with ${response.statusCode}`);
  response.on('error', () => {});
  const arrivals = new Map<string, number>();
  let rest = '';
  response.setEncoding('utf8').on('data', (text: string) => {
    const at = performance.now();
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, messageId] = /"messageId":"(\w+)"/.exec(block) ?? [];
      if (messageId === undefined) continue;
      if (arrivals.has(messageId)) throw new Error(`${messageId} came twice`);
      arrivals.set(messageId, at);
    }
  });
  return { arrivals, response, call };
}

/** Prints the memory of the processes and the processor time of `work`. */
async function measured<T>(name: string, work: () => Promise<T>): Promise<T> {
  const before = usageOf(pids);
  const started = performance.now();
  const result = await work();
  const seconds = (performance.now() - started) / 1000;
  const after = usageOf(pids);
  const cpu = (of: 'api' | 'postgres'): string =>
    `${(((after[of].cpu - before[of].cpu) * 100) / seconds).toFixed(1)} %`;
  console.log(
    `${name}: ${seconds.toFixed(1)} s, API ${after.api.mb} MB, of a core: API ${cpu('api')}, PostgreSQL ${cpu('postgres')}`,
  );
  return result;
}

async function arrived(clients: readonly Client[], count: number): Promise<void> {
  const end = performance.now() + 60_000;
  while (!clients.every(({ arrivals }) => arrivals.size >= count)) {
    if (performance.now() > end) throw new Error('events are missing after a minute');
    await pause(20);
  }
}

/** The order in which a client got the events. */
const orderOf = ({ arrivals }: Client): string => [...arrivals.keys()].join();

try {
  const workspaces = await Promise.all(
    Array.from({ length: WORKSPACES }, () => createBenchWorkspace(load.pools, 0)),
  );
  await measured('no stream', () => pause(Number(options.idle) * 1000));
  const clients = await measured(`opening ${WORKSPACES * EACH} streams`, async () => {
    const opened: Client[][] = [];
    for (const { key } of workspaces)
      opened.push(await Promise.all(Array.from({ length: EACH }, () => connect(key))));
    return opened;
  });
  await measured('idle', () => pause(Number(options.idle) * 1000));

  const perSecond = Number(options['per-second']);
  const latencies = await measured(`${options.events} events, ${perSecond} a second`, async () => {
    const emitted: { of: number; messageId: string; at: number }[] = [];
    const started = performance.now();
    for (let index = 0; index < Number(options.events); index++) {
      await pause(Math.max(0, started + (index * 1000) / perSecond - performance.now()));
      const of = index % WORKSPACES;
      emitted.push({ of, ...(await load.emit(workspaces[of]?.id ?? '')) });
    }
    const count = Math.floor(emitted.length / WORKSPACES);
    await arrived(clients.flat(), count);
    return emitted.flatMap(({ of, messageId, at }) =>
      (clients[of] ?? []).map(({ arrivals }) => (arrivals.get(messageId) ?? Infinity) - at),
    );
  });
  console.log(
    `from the commit to the client: median ${quantile(latencies, 0.5).toFixed(0)} ms, 95 % ${quantile(latencies, 0.95).toFixed(0)} ms, 99 % ${quantile(latencies, 0.99).toFixed(0)} ms, at most ${Math.max(...latencies).toFixed(0)} ms`,
  );

  // Each in its own workspace, because a key may open only twenty streams.
  const crowd = await Promise.all(
    Array.from({ length: Math.ceil(STUCK / EACH) }, () => createBenchWorkspace(load.pools, 0)),
  );
  const stuck = (
    await Promise.all(crowd.map(({ key }) => Promise.all(Array.from({ length: EACH }, () => connect(key)))))
  ).flat();
  for (const { response } of stuck) response.pause();
  const burst = Number(options.burst);
  await measured(
    `${burst} events to each of ${crowd.length} workspaces, none of whose clients reads`,
    async () => {
      for (const { id } of crowd) await load.emitMany(id, burst);
      await pause(2000);
    },
  );
  await measured('they read', async () => {
    for (const { response } of stuck) response.resume();
    await arrived(stuck, burst);
  });
  const orders = new Set(stuck.map(orderOf));
  console.log(`every client had every event once; ${orders.size} orders in ${crowd.length} workspaces`);
  if (orders.size !== crowd.length) throw new Error('clients of one workspace had different orders');
  for (const { call } of [...clients.flat(), ...stuck]) call.destroy();
} finally {
  await api.kill();
  await load.close();
  await stop();
}
