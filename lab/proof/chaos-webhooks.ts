import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '../../db/connection/transactions.ts';
import { startProcess } from '../../test/support/process.ts';
import { startServers } from '../bench/support/servers.ts';
import { until } from '../bench/support/waiting.ts';
import { createWebhookLoad, quantile } from '../bench/support/webhook-load.ts';

/**
 * Kills the worker with SIGKILL at random moments during 10,000 deliveries, and counts at the receivers what was delivered
 * twice or lost: `npm run prove -- chaos-webhooks [--endpoints 25 --events 200 --seconds 200]`. Two workspaces have the same
 * number of endpoints and the same events; one of them also has an endpoint that never responds. Receivers take up to a
 * second, so that deliveries are in flight whenever the worker is killed.
 */
const { values: options } = parseArgs({
  options: {
    endpoints: { type: 'string', default: '25' },
    events: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '200' },
  },
});
const [ENDPOINTS, EVENTS, SECONDS] = [
  Number(options.endpoints),
  Number(options.events),
  Number(options.seconds),
];
const RESPOND_WITHIN_MS = 1000;
/** The deliveries to the endpoint that hangs take ten seconds for every eight. */
const SETTLE_MS = 15 * 60_000;

const httpServers: Server[] = [];
/** How often each delivery arrived, and when the deliveries about each message arrived. */
const received = new Map<string, number>();
const arrivals = new Map<string, number[]>();

async function startEndpoint(hangs: boolean): Promise<{ url: string }> {
  const server = createServer((request, response) => {
    const delivery = String(request.headers['x-svc-delivery-id']);
    received.set(delivery, (received.get(delivery) ?? 0) + 1);
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (hangs) return;
      const messageId = /"messageId":"(\w+)"/.exec(body)?.[1] ?? '';
      arrivals.set(messageId, [...(arrivals.get(messageId) ?? []), performance.now()]);
      setTimeout(() => response.writeHead(204).end(), Math.random() * RESPOND_WITHIN_MS);
    });
  });
  httpServers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

const Delivery = z.object({
  id: z.string(),
  workspaceId: z.string(),
  url: z.string(),
  status: z.string(),
  success: z.boolean().nullable(),
  error: z.string().nullable(),
});

const { config, stop } = await startServers();
const load = await createWebhookLoad(config);
const db = systemDb(load.pools);
let worker = await startProcess('workers/worker.ts', config);
try {
  const endpoints = () => Promise.all(Array.from({ length: ENDPOINTS }, () => startEndpoint(false)));
  const hanging = await startEndpoint(true);
  const alone = await load.createWorkspace(await endpoints());
  const beside = await load.createWorkspace([...(await endpoints()), hanging]);

  const emittedEvents = new Map<string, { workspaceId: string; at: number }>();
  const emitted = (async () => {
    const started = performance.now();
    for (let index = 0; index < EVENTS; index += 1) {
      await pause(Math.max(0, started + (index * SECONDS * 1000) / EVENTS - performance.now()));
      for (const workspaceId of [alone, beside]) {
        const { messageId, at } = await load.emit(workspaceId);
        emittedEvents.set(messageId, { workspaceId, at });
      }
    }
  })();
  let kills = 0;
  while (emittedEvents.size < 2 * EVENTS) {
    await pause(1000 + Math.random() * 24_000);
    await worker.kill();
    kills += 1;
    await pause(Math.random() * 3000);
    worker = await startProcess('workers/worker.ts', config);
  }
  await emitted;

  const open = () =>
    db.anyFirst(sql.type(z.object({ status: z.string() }))`
      select status from webhook_deliveries where status in ('pending', 'sending')`);
  const settled = performance.now();
  await until(async () => (await open()).length === 0, SETTLE_MS).catch(() => {});
  console.log(
    `${kills} times SIGKILL; nothing was open ${((performance.now() - settled) / 1000).toFixed(0)} s after the last event`,
  );

  const deliveries = await db.any(sql.type(Delivery)`
    select d.id, d.workspace_id, h.url, d.status, d.success, d.error from webhook_deliveries d join webhooks h on h.id = d.webhook_id`);
  const healthy = deliveries.filter(({ url }) => url !== hanging.url);
  const times = ({ id }: { id: string }): number => received.get(id) ?? 0;
  const of = (list: typeof deliveries) => ({
    deliveries: list.length,
    succeeded: list.filter(({ success }) => success === true).length,
    interrupted: list.filter(({ error }) => error === 'interrupted').length,
    'interrupted, though it arrived': list.filter((row) => row.error === 'interrupted' && times(row) === 1)
      .length,
    'failed otherwise': list.filter(({ success, error }) => success === false && error !== 'interrupted')
      .length,
    'still open': list.filter(({ status }) => status !== 'done').length,
    doubled: list.filter((row) => times(row) > 1).length,
    'lost and not said so': list.filter((row) => row.success === true && times(row) === 0).length,
  });
  console.table({
    'endpoints that answer': of(healthy),
    'the one that hangs': of([...deliveries].filter(({ url }) => url === hanging.url)),
  });

  for (const [name, workspaceId] of [
    ['without', alone],
    ['beside', beside],
  ] as const) {
    const latencies = [...emittedEvents]
      .filter(([, event]) => event.workspaceId === workspaceId)
      .flatMap(([messageId, { at }]) => (arrivals.get(messageId) ?? []).map((arrival) => arrival - at));
    const [half, most] = [0.5, 0.95].map((part) => (quantile(latencies, part) / 1000).toFixed(2));
    console.log(`${name} the endpoint that hangs: median ${half} s, 95 % within ${most} s, outages included`);
  }
  const all = of(deliveries);
  const right =
    healthy.length === 2 * ENDPOINTS * EVENTS &&
    all['still open'] + all.doubled + all['lost and not said so'] + of(healthy)['failed otherwise'] === 0;
  if (!right) process.exitCode = 1;
} finally {
  await worker.kill();
  await load.close();
  for (const server of httpServers) {
    server.close();
    server.closeAllConnections();
  }
  await stop();
}
