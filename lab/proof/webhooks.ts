import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EVENT_NAMES } from '../../domain/events/event.ts';
import { apiClient } from '../../test/support/client.ts';
import { startProduct } from '../bench/support/product.ts';
import { until } from '../bench/support/waiting.ts';
import { createBenchWorkspace, unpaced } from '../bench/support/workspace.ts';

/**
 * Checks that the public Standard Webhooks library for Python verifies real deliveries of every event, a ping, a replay
 * and both signatures after a rotation, and refuses changed deliveries: `npm run prove -- webhooks`. Requires python3 with
 * venv; the receiver is examples/webhook_verify.py.
 */
const LIBRARY = 'standardwebhooks==1.1.0';

interface Relayed {
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The status of the Python receiver's response. */
  status: number;
}

const folder = mkdtempSync(join(tmpdir(), 'linepace-python-'));
try {
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
  execFileSync(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', LIBRARY], {
    stdio: 'inherit',
  });
} catch (error) {
  rmSync(folder, { recursive: true, force: true });
  throw new Error('this check requires python3 with its venv module, and the Python package index', {
    cause: error,
  });
}

/** Starts a process of examples/webhook_verify.py. */
async function startPython(secret: string) {
  const child = spawn(join(folder, 'bin/python'), ['examples/webhook_verify.py'], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [first] = (await once(lines, 'line')) as [string];
  const output: string[] = [];
  lines.on('line', (line) => output.push(line));
  return {
    output,
    async verify({ headers, body }: Pick<Relayed, 'headers' | 'body'>): Promise<number> {
      const response = await fetch(first.replace('listening ', ''), {
        method: 'POST',
        headers: Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)) as [string, string][],
        body: new Uint8Array(body),
      });
      return response.status;
    },
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}
type Python = Awaited<ReturnType<typeof startPython>>;

/** Headers that belong to one connection. */
const HOP_BY_HOP = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);

/** Forwards each delivery unchanged, returns Python's status, and keeps the delivery for the tests of changed ones. */
const relayed: Relayed[] = [];
const python = Promise.withResolvers<Python>();
const relay = createServer((request, response) => {
  const forward = async (): Promise<void> => {
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    const status = await (await python.promise).verify({ headers: request.headers, body });
    relayed.push({ headers: request.headers, body, status });
    response.writeHead(status).end();
  };
  forward().catch((error: unknown) => response.destroy(error as Error));
});
await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));

const product = await startProduct();
const receivers: Python[] = [];
const failures: string[] = [];
const expect = (what: string, right: boolean): void => {
  console.log(`${right ? '✓' : '✗'} ${what}`);
  if (!right) failures.push(what);
};
const arrived = (event: string): Relayed[] =>
  relayed.filter(({ headers }) => headers['x-svc-event'] === event);

try {
  const { id, key } = await createBenchWorkspace(product.pools, 1);
  await unpaced(product.pools, id);
  const call = apiClient(product.urls[0] ?? '', key);
  const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}/`;
  const { body: created } = await call('POST', '/api/webhooks', { url, events: EVENT_NAMES });
  const path = `/api/webhooks/${created.webhook._id}`;
  const first = await startPython(created.secret);
  receivers.push(first);
  python.resolve(first);

  await call('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
  // The last four digits select the behaviour of the simulated carrier (simulator/behaviour.ts).
  for (const to of ['0001', '0002', '0005', '0006', '0010']) {
    const message = `Grüße an ${to} 👋 "und"\n\u2028 mehr`;
    await call('POST', '/api/messages', { message, recipientPhone: `+1212300${to}` });
  }
  await call('POST', '/api/messages', { message: 'Another', recipientPhone: '+12123100005' });
  await until(async () => arrived('message.ai_draft').length === 2);
  for (const [index, action] of ['approve', 'reject'].entries()) {
    const { data } = JSON.parse(String(arrived('message.ai_draft')[index]?.body)) as {
      data: { replyId: string };
    };
    await call('POST', '/api/knowledge-base/auto-replies', { replyId: data.replyId, action });
  }
  await until(async () => EVENT_NAMES.every((event) => arrived(event).length > 0));
  await call('POST', `${path}/health-check`);
  for (const event of [...EVENT_NAMES, 'webhook.ping']) {
    const deliveries = arrived(event);
    expect(
      `${event}: ${deliveries.length} verified`,
      deliveries.length > 0 && deliveries.every(({ status }) => status === 204),
    );
  }

  const sent = arrived('message.sent')[0];
  if (!sent) throw new Error('nothing was sent');
  const replay = await call('POST', `${path}/deliveries/${String(sent.headers['x-svc-delivery-id'])}/replay`);
  expect('a replay verifies', replay.status === 200 && relayed.at(-1)?.headers['x-svc-replay'] === 'true');

  const rotated = await call('POST', `${path}/rotate-secret`);
  const second = await startPython(rotated.body.secret);
  receivers.push(second);
  await call('POST', `${path}/health-check`);
  const both = relayed.at(-1);
  expect('after a rotation the old secret verifies', both?.status === 204);
  expect('and so does the new one', both !== undefined && (await second.verify(both)) === 204);

  const refused = async (what: string, change: Partial<Relayed>, by = first): Promise<void> =>
    expect(`${what} is refused`, (await by.verify({ ...sent, ...change })) === 400);
  const body = Buffer.from(sent.body);
  body.writeUInt8(body.readUInt8(body.length - 2) ^ 1, body.length - 2);
  const header = (name: string, value: string) => ({ headers: { ...sent.headers, [name]: value } });
  await refused('a body with one bit changed', { body });
  await refused('another event id', header('webhook-id', 'f'.repeat(24)));
  const nextSecond = String(Number(sent.headers['webhook-timestamp']) + 1);
  await refused('another second', header('webhook-timestamp', nextSecond));
  await refused('another secret', {}, second);
  await refused('a signature of another version', header('webhook-signature', 'v2,AAAA'));
  console.log(`${relayed.length} deliveries by way of ${LIBRARY}`);
} finally {
  for (const receiver of receivers) await receiver.stop();
  await product.stop();
  relay.close();
  relay.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
if (failures.length > 0) process.exitCode = 1;
