import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Koa from 'koa';

export interface Listening {
  port: number;
  /** Answers what has arrived, for a few seconds at most, and takes nothing new. */
  close(): Promise<void>;
}

/** How long a client may take to send, in milliseconds; whoever is slower is answered 408 and disconnected. */
export interface Patience {
  headersMs: number;
  /** The whole request: the largest, an import of 100 MB, needs 3 Mbit/s. */
  requestMs: number;
  /** How often connections are looked at. */
  checkEveryMs: number;
}

const PATIENCE: Patience = { headersMs: 20_000, requestMs: 300_000, checkEveryMs: 5000 };
const CLOSE_MS = 5000;

export async function listen(
  app: Koa,
  { host, port }: { host: string; port: number },
  { headersMs, requestMs, checkEveryMs }: Patience = PATIENCE,
): Promise<Listening> {
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkEveryMs,
      // Longer than the idle time of usual load balancers, so that they close first.
      keepAliveTimeout: 75_000,
    },
    app.callback(),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}
