import { openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { startApi } from '#api/server.ts';
import { isOverload } from '#db/connection/overload.ts';
import { createPools } from '#db/connection/pools.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, withSystem } from '#db/connection/transactions.ts';
import { freePort } from '#providers/free-port.ts';
import { overTcp } from '#test/setup/database.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { startBlackHole } from '#test/support/black-hole.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { startProcess } from '#test/support/process.ts';
import { startWorker } from '#workers/worker.ts';

let app: OwnApp;
beforeAll(async () => void (app = await startTestApp({ worker: false })));
afterAll(() => app.stop());

test('a primary that vanishes without a word costs half a minute, for requests and for sends', async () => {
  const { port } = new URL(app.config.database.systemUrl);
  const hole = await startBlackHole('127.0.0.1', Number(port));
  const through = (url: string): string => overTcp(url, hole.port);
  const { database } = app.config;
  const config = {
    ...app.config,
    port: 0,
    metricsPort: null,
    database: {
      ...database,
      tenantUrl: through(database.tenantUrl),
      systemUrl: through(database.systemUrl),
      listenUrl: through(database.listenUrl),
    },
  };
  const api = await startApi(config);
  const worker = await startWorker(config, { codePath: inject('workflowBundle') });
  const { key, lineId } = await createWorkspaceWithLine(app);
  const call = apiClient(api.url, key);
  const send = async (to: string) =>
    call('POST', '/api/messages', { message: 'Hello', recipientPhone: to, fromLineId: lineId }).catch(
      () => null,
    );
  const before = phone();
  await send(before);
  await eventually(async () => (await sentTo(app, before)).length === 1);

  expect(hole.swallow()).toBeGreaterThan(4);
  const swallowedAt = new Date();
  const after = phone();
  await eventually(async () => (await send(after))?.status === 201, 30_000);
  await eventually(async () => (await sentTo(app, after)).length > 0, 30_000);
  await eventually(async () => (await fetch(`${api.url}/readyz`)).status === 200, 60_000);
  // What runs beside requests goes on as well.
  await eventually(async () => {
    const { body } = await call('GET', '/api/requests');
    return body.requests.some(({ at }: { at: string }) => new Date(at) > swallowedAt);
  }, 60_000);
  expect((await fetch(`${api.url}/healthz`)).status).toBe(200);

  // As long as no other primary has taken over, whoever probes or scrapes is answered before they give up.
  hole.swallow({ andNew: true });
  const asked = async (path: string) => {
    const response = await fetch(api.url + path, { signal: AbortSignal.timeout(10_000) });
    return { status: response.status, text: await response.text() };
  };
  await eventually(async () => (await asked('/readyz')).status === 503);
  await eventually(async () =>
    /^linepace_ready\{check="postgresql"\} 0$/m.test((await asked('/metrics')).text),
  );
  hole.swallow();
  await worker.stop();
  await api.stop();
  await hole.close();
}, 240_000);

test('a statement whose connection is reset has met a database that is down, not a mistake of ours', async () => {
  const { port } = new URL(app.config.database.systemUrl);
  const hole = await startBlackHole('127.0.0.1', Number(port));
  const { tenantUrl, systemUrl } = app.config.database;
  const urls = { tenantUrl: overTcp(tenantUrl, hole.port), systemUrl: overTcp(systemUrl, hole.port) };
  const pools = await createPools(urls, { size: 1 });
  const sleep = sql.type(NoRows)`select pg_sleep(10)`;
  const sleeping = (): Promise<number> =>
    systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.number() }))`
      select count(*)::int from pg_stat_activity
      where datname = current_database() and state = 'active' and query = 'select pg_sleep(10)'`);
  const works = [() => systemDb(pools).query(sleep), () => withSystem(pools, (db) => db.query(sleep))];
  for (const [before, work] of works.entries()) {
    const failed = work().catch((error: unknown) => error);
    // The server notices the end of a connection only after the statement.
    await eventually(async () => (await sleeping()) > before);
    hole.reset();
    expect(isOverload(await failed)).toBe(true);
  }
  await systemDb(pools).query(sql.type(NoRows)`select`);
  await pools.close();
  await hole.close();
}, 60_000);

test.each([
  ['api/server.ts', 'PostgreSQL'],
  ['workers/worker.ts', 'PostgreSQL'],
  ['workers/worker.ts', 'Temporal'],
] as const)(
  '%s that starts before %s waits for it, and says so',
  async (entry, part) => {
    const { config } = app;
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const { tenantUrl, systemUrl, listenUrl } = config.database;
    const throughFront =
      part === 'Temporal'
        ? { temporal: { ...config.temporal, address } }
        : {
            database: {
              ...config.database,
              tenantUrl: overTcp(tenantUrl, port),
              systemUrl: overTcp(systemUrl, port),
              listenUrl: overTcp(listenUrl, port),
            },
          };
    const log = join(tmpdir(), `waits-${port}.log`);
    const starting = startProcess(entry, { ...config, ...throughFront }, 0, openSync(log, 'w'), {
      LOG_LEVEL: 'warn',
    });
    const says = (): boolean => readFileSync(log, 'utf8').includes(`${part} at ${address} does not answer`);
    await Promise.race([starting, eventually(async () => says(), 30_000)]);
    expect(says()).toBe(true);
    const server = part === 'Temporal' ? `http://${config.temporal.address}` : systemUrl;
    const front = await startBlackHole('127.0.0.1', Number(new URL(server).port), port);
    await (await starting).kill();
    await front.close();
  },
  60_000,
);
