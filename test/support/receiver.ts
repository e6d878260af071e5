import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface ReceivedDelivery {
  headers: Record<string, string>;
  rawBody: string;
  // Payloads are looked into freely by tests; their schemas are checked elsewhere.
  // oxlint-disable-next-line no-explicit-any
  payload: any;
}

export interface Receiver {
  url: string;
  deliveries: ReceivedDelivery[];
  stop(): Promise<void>;
}

/** A subscriber's endpoint: a real HTTP server that keeps what it is sent. */
export async function startReceiver(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.end('ok'),
): Promise<Receiver> {
  const deliveries: ReceivedDelivery[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const rawBody = Buffer.concat(chunks).toString('utf8');
      deliveries.push({
        headers: request.headers as Record<string, string>,
        rawBody,
        payload: JSON.parse(rawBody),
      });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    deliveries,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Verifies a delivery with the public library of the scheme. @throws when it does not verify. */
export function verify(secret: string, { headers, rawBody }: ReceivedDelivery): void {
  new Webhook(secret).verify(rawBody, headers);
}
