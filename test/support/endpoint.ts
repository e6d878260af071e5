import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished } from 'vitest';
import type { ApiClient } from './client.ts';

/** One request as an endpoint received it. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** The raw text. */
  body: string;
  // Tests read any field of an event; those about schemas check the shapes.
  // oxlint-disable-next-line no-explicit-any
  json: any;
  at: number;
}

/** How an endpoint responds: with a status, or by a function. */
export type Behaviour = number | ((response: ServerResponse) => void);

/** Never responds. */
export const hang: Behaviour = () => {};

export interface Endpoint {
  url: string;
  port: number;
  received: Received[];
  /** The number of open requests. */
  open(): number;
  behave(behaviour: Behaviour): void;
  /** Closes all connections, as if the endpoint went down. */
  drop(): void;
  close(): Promise<void>;
}

/** Starts a customer's webhook server. @param port the port of an earlier one, to replace it. */
export async function startEndpoint(behaviour: Behaviour = 204, port = 0): Promise<Endpoint> {
  let current = behaviour;
  let open = 0;
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const at = Date.now();
    open += 1;
    response.once('close', () => (open -= 1));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      received.push({ path: request.url ?? '', headers: request.headers, body, json: JSON.parse(body), at });
      if (typeof current === 'number') response.writeHead(current).end();
      else current(response);
    });
  });
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, '127.0.0.1', resolve),
  );
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    port: address.port,
    received,
    open: () => open,
    behave(next) {
      current = next;
    },
    drop: () => server.closeAllConnections(),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Starts an endpoint that is closed when the test has finished. */
export async function startTestEndpoint(...options: Parameters<typeof startEndpoint>): Promise<Endpoint> {
  const endpoint = await startEndpoint(...options);
  onTestFinished(() => endpoint.close());
  return endpoint;
}

/** Registers a webhook, for `message.sent` by default. @returns its id, its secret and its path in the API. */
export async function registerWebhook(
  api: ApiClient,
  url: string,
  fields: object = {},
): Promise<{ id: string; secret: string; path: string }> {
  const { status, body } = await api('POST', '/api/webhooks', { url, events: ['message.sent'], ...fields });
  expect(status).toBe(201);
  return { id: body.webhook._id, secret: body.secret, path: `/api/webhooks/${body.webhook._id}` };
}

/** Verifies a delivery with the public library of Standard Webhooks. @throws if the signature is wrong. */
export function verify({ body, headers }: Received, secret: string): void {
  new Webhook(secret).verify(body, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
}
