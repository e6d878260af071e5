import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { EVENT_NAMES } from '#domain/events/event.ts';

/**
 * Prints all events of a workspace: registers a webhook for every event, verifies each delivery with the public Standard
 * Webhooks library, prints it, and deletes the webhook on Ctrl-C.
 *
 *   npm run example -- webhook-listen                                       the demo workspace of a running `npm start`
 *   npm run example -- webhook-listen --url https://… --key svc_sk_…     another one
 *
 * `--port` sets the port to listen on; `--public-url` is the URL at which the service reaches it if it runs elsewhere.
 */
const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    key: { type: 'string' },
    port: { type: 'string', default: '0' },
    'public-url': { type: 'string' },
  },
});

const Demo = z.object({ baseUrl: z.string(), workspaceKey: z.string() });
const Created = z.object({ webhook: z.object({ _id: z.string(), secret: z.string() }) });

function service(): { url: string; key: string } {
  const { url, key } = options;
  if (url && key) return { url: url.replace(/\/$/, ''), key };
  const file = join(process.env['DATA_DIR'] ?? '.data', 'demo.json');
  try {
    const demo = Demo.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { url: url ?? demo.baseUrl, key: key ?? demo.workspaceKey };
  } catch (error) {
    throw new Error(`Start the service first (npm start writes ${file}), or pass --url and --key`, {
      cause: error,
    });
  }
}

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** Verifies and prints a delivery. @returns the status of the response, 400 if the signature is wrong. */
function receive(headers: IncomingMessage['headers'], body: string, signingSecret: string): 204 | 400 {
  const text = (name: string): string => String(headers[name] ?? '');
  try {
    const verified = new Webhook(signingSecret).verify(body, {
      'webhook-id': text('webhook-id'),
      'webhook-timestamp': text('webhook-timestamp'),
      'webhook-signature': text('webhook-signature'),
    });
    const replay = headers['x-svc-replay'] === 'true' ? ' (replay)' : '';
    console.log(
      `\n${text('x-svc-event')}${replay}  event ${text('x-svc-event-id')}  delivery ${text('x-svc-delivery-id')}  verified`,
    );
    console.dir(verified, { depth: null });
    return 204;
  } catch (error) {
    console.error(`\nrejected a delivery: ${error instanceof Error ? error.message : String(error)}`);
    return 400;
  }
}

const { url, key } = service();
const secret = Promise.withResolvers<string>();
const server = createServer((request, response) => {
  const respond = async (): Promise<void> => {
    const body = Buffer.concat(await request.toArray()).toString('utf8');
    response.writeHead(receive(request.headers, body, await secret.promise)).end();
  };
  // The service disconnected and logs the delivery as failed.
  respond().catch(() => response.destroy());
});
// Listens first, because a delivery may arrive before the response with the secret.
const host = options['public-url'] === undefined ? '127.0.0.1' : '0.0.0.0';
await new Promise<void>((resolve, reject) =>
  server.once('error', reject).listen(Number(options.port), host, resolve),
);
const address = options['public-url'] ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const created = Created.parse(
  await call('POST', '/api/webhooks', { name: 'webhook:listen', url: address, events: EVENT_NAMES }),
);
secret.resolve(created.webhook.secret);
console.log(`Listening on ${address} as webhook ${created.webhook._id} of ${url}. Press Ctrl-C to stop.`);

async function stop(): Promise<void> {
  server.close();
  server.closeAllConnections();
  await call('DELETE', `/api/webhooks/${created.webhook._id}`);
  console.log('\nDeleted the webhook.');
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stop().catch((error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    });
  });
}
