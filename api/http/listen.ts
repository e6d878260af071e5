import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { listenError } from '#providers/listen-error.ts';

export interface Listening {
  port: number;
  /** Stops accepting connections and finishes requests in progress, for a few seconds at most. */
  close(): Promise<void>;
}

/** How long a client may take to send a request, in milliseconds; slower ones get 408 and are disconnected. */
export interface RequestTimeouts {
  headersMs: number;
  /** The time for a whole request: the largest, an import of 100 MB, requires 3 Mbit/s. */
  requestMs: number;
  /** The time without progress of a response: a client that does not read is disconnected. */
  idleMs: number;
  /** The interval at which timeouts are checked. */
  checkEveryMs: number;
}

const TIMEOUTS: RequestTimeouts = {
  headersMs: 20_000,
  requestMs: 300_000,
  idleMs: 60_000,
  checkEveryMs: 5000,
};
const CLOSE_MS = 5000;
/** The connections of a process. Each costs memory; further ones are closed at once. */
const MAX_CONNECTIONS = 20_000;

/** @param address.variable the variable that names the port, for the error if it is in use. */
export async function listen(
  app: { callback(): RequestListener },
  { host, port, variable = 'PORT' }: { host: string; port: number; variable?: string },
  { headersMs, requestMs, idleMs, checkEveryMs }: RequestTimeouts = TIMEOUTS,
): Promise<Listening> {
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkEveryMs,
      // Longer than the idle timeout of common load balancers, so that they close connections first.
      keepAliveTimeout: 75_000,
    },
    app.callback(),
  );
  server.timeout = idleMs;
  server.on('request', (_request, response: ServerResponse) => {
    response.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) socket.destroy();
      // The response is not ready yet. The request has a timeout of its own.
      else socket.setTimeout(idleMs);
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, port, variable)));
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
