import { readFileSync } from 'node:fs';
import { type IncomingMessage, request as send } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Certificates } from './certificates.ts';

export interface TlsFront {
  port: number;
  close(): Promise<void>;
}

/** A process that refuses the connection has not seen the request. */
const REFUSED = 'ECONNREFUSED';

/**
 * Terminates TLS in front of processes that take turns. A request goes to the next process if one refuses the
 * connection, as behind a load balancer; a request that a process lost with its connection is answered 502.
 * @param ports of the processes behind it.
 * @param at where it listens.
 */
export async function startTlsFront(
  { server: cert, serverKey: key }: Certificates,
  ports: readonly number[],
  at = { host: '127.0.0.1', port: 0 },
): Promise<TlsFront> {
  let turn = 0;
  const forward = (request: IncomingMessage, body: Buffer, port: number): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const from = request.socket.remoteAddress ?? '';
      const headers = { ...request.headers, 'x-forwarded-for': from, 'x-forwarded-proto': 'https' };
      const { method, url: path } = request;
      const forwarded = send({ host: '127.0.0.1', port, method, path, headers, agent: false }, resolve);
      forwarded.once('error', reject);
      forwarded.end(body);
    });
  const server = createServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    async (request, response) => {
      try {
        const body = await buffer(request);
        for (let tries = 1; ; tries += 1) {
          turn += 1;
          try {
            const answer = await forward(request, body, ports[turn % ports.length] ?? 0);
            response.writeHead(answer.statusCode ?? 502, answer.headers);
            answer.once('error', () => response.destroy());
            answer.pipe(response);
            return;
          } catch (error) {
            if ((error as { code?: unknown }).code !== REFUSED || tries === ports.length) throw error;
          }
        }
      } catch {
        response.writeHead(502).end();
      }
    },
  );
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(at.port, at.host, resolve),
  );
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
