import { readFileSync } from 'node:fs';
import { request as send } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** A proxy that terminates TLS for an API on this machine, as `deploy/Caddyfile` describes. */
export interface TlsProxy {
  port: number;
  /** Forwards requests to another port from now on. */
  to(port: number): void;
  close(): Promise<void>;
}

/** @param folder with `server.pem` and `server-key.pem`, for localhost. */
export async function startTlsProxy(folder: string): Promise<TlsProxy> {
  let target = 0;
  const server = createServer(
    { cert: readFileSync(join(folder, 'server.pem')), key: readFileSync(join(folder, 'server-key.pem')) },
    (request, response) => {
      const { method, url: path, headers } = request;
      const from = request.socket.remoteAddress ?? '';
      const forwarded = send(
        { host: '127.0.0.1', port: target, method, path, headers: { ...headers, 'x-forwarded-for': from } },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      forwarded.once('error', () => response.writeHead(502).end());
      request.pipe(forwarded);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    to: (port) => void (target = port),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
