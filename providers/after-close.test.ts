import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTemporalClient } from './temporal.ts';

/** Is never available. */
const server = createServer();
let address: string;

beforeAll(async () => {
  server.on('stream', (stream) => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(status.UNAVAILABLE) },
      { endStream: true },
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

const connect = () =>
  createTemporalClient({
    address,
    namespace: 'default',
    codecKeys: null,
    apiKey: null,
    apiKeyPath: null,
    tls: null,
  });

test('ends a call that would be repeated after its connection was closed', async () => {
  const client = connect();
  const called = once(server, 'stream');
  const counted = client.workflow.count().catch((error: unknown) => error);
  await called;
  await client.connection.close();
  expect(await counted).toMatchObject({
    cause: { code: status.CANCELLED, details: expect.stringContaining('shut down') },
  });
});

test('refuses a call on a closed connection', async () => {
  const client = connect();
  await client.connection.close();
  await expect(client.workflow.count()).rejects.toMatchObject({ cause: { code: status.CANCELLED } });
});
