import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

const OF_THE_CONNECTION = ['host', 'connection', 'content-length', 'transfer-encoding'];

/**
 * A proxy that loses the response of some attempts, after the API has sent it. The API is also below `/linepace`.
 * @param loses whether the response of the nth attempt is lost. The request is passed on once that is known.
 */
export async function startLossyFront(
  apiUrl: string,
  loses: (attempt: number, request: IncomingMessage) => boolean | Promise<boolean>,
) {
  let attempts = 0;
  const server = createServer(async (request, response) => {
    attempts += 1;
    const body = await buffer(request);
    const isLost = await loses(attempts, request);
    const headers = Object.entries(request.headers).filter(([name]) => !OF_THE_CONNECTION.includes(name));
    const answer = await fetch(`${apiUrl}${request.url?.replace(/^\/linepace\//, '/')}`, {
      method: request.method ?? 'GET',
      headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    });
    const text = await answer.text();
    if (isLost) return request.socket.destroy();
    return response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(text);
  });
  return { url: await listening(server), attempts: () => attempts };
}

/** Listens until the test has finished. @returns the URL. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
