import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A proxy in front of a provider, which can refuse POST requests. */
export interface Front {
  url: string;
  /** The number of POST requests. */
  posts: number;
  /** The response to the next POST requests, a page if it is a text; null to forward them to the provider. */
  refusal: { status: number; body: object | string } | null;
  /** What somebody else answers to all requests, or nothing at all; null to let them pass. `swallows`: they pass, but not their responses. */
  outage: { status: number; html: string } | 'hangs' | 'swallows' | null;
  /** Refuses connections and ends those that are open; what was forwarded still reaches the provider. */
  die(): Promise<void>;
  /** Takes connections again, at the same address. */
  revive(): Promise<void>;
  close(): Promise<void>;
}

export async function startFront(target: string): Promise<Front> {
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') front.posts += 1;
    if (front.outage === 'hangs') return;
    if (typeof front.outage === 'object' && front.outage) {
      response.writeHead(front.outage.status, { 'content-type': 'text/html' }).end(front.outage.html);
      return;
    }
    if (request.method === 'POST' && front.refusal) {
      const { status, body } = front.refusal;
      const isPage = typeof body === 'string';
      response
        .writeHead(status, { 'content-type': isPage ? 'text/html' : 'application/json' })
        .end(isPage ? body : JSON.stringify(body));
      return;
    }
    const headers = { ...request.headers } as Record<string, string>;
    for (const name of ['host', 'connection', 'content-length', 'transfer-encoding']) delete headers[name];
    const forwarded = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers,
      ...(request.method === 'POST' && { body: await buffer(request) }),
    });
    if (front.outage === 'swallows') return;
    response.writeHead(forwarded.status, { 'content-type': 'application/json' }).end(await forwarded.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  const front: Front = {
    url: `http://127.0.0.1:${port}`,
    posts: 0,
    refusal: null,
    outage: null,
    die: close,
    revive: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
    close,
  };
  return front;
}
