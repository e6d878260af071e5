import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { createPools } from '#db/connection/pools.ts';
import { certificate } from '#test/support/temporal-proxy.ts';

/** PostgreSQL's answer to a client that requests TLS. */
const WILLING = 'S';

/** Terminates TLS in front of the PostgreSQL of the test run, for a server named `localhost`. */
let server: Server;
const sockets = new Set<Socket>();

beforeAll(async () => {
  const { port } = new URL(inject('databaseUrl'));
  const context = { cert: readFileSync(certificate('server')), key: readFileSync(certificate('server-key')) };
  server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', () => {
      socket.write(WILLING);
      const secured = new TLSSocket(socket, { isServer: true, ...context }).on('error', () => {});
      const database = connect(Number(port), '127.0.0.1').on('error', () => {});
      secured.pipe(database).pipe(secured);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

const overTls = (url: string, parameters: Record<string, string>, host = 'localhost'): string => {
  const { port } = server.address() as AddressInfo;
  const target = Object.assign(new URL(url), { host: `${host}:${port}` });
  return `${target.href}?${new URLSearchParams(parameters)}`;
};

async function connectBoth(...options: [parameters: Record<string, string>, host?: string]): Promise<void> {
  const { tenantUrl, systemUrl } = inject('databaseLogins');
  const urls = { tenantUrl: overTls(tenantUrl, ...options), systemUrl: overTls(systemUrl, ...options) };
  // The migrations, the rate limits and the listeners.
  const client = new pg.Client({ connectionString: urls.systemUrl });
  const pools = await createPools(urls, { size: 1 });
  try {
    const user = sql.type(z.object({ user: z.string() }))`select session_user "user"`;
    expect(await pools.system.oneFirst(user)).toBe('linepace_system');
    await client.connect();
  } finally {
    await client.end();
    await pools.close();
  }
}

const VERIFIED = { sslmode: 'verify-full', sslrootcert: certificate('authority') };

test('PostgreSQL is used over TLS, and its certificate is verified', async () => {
  await connectBoth(VERIFIED);
  await expect(connectBoth({ sslmode: 'verify-full' })).rejects.toThrow(/certificate/);
  await expect(connectBoth(VERIFIED, '127.0.0.1')).rejects.toThrow(/certificate/);
});
