import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { PNG, upload } from '#test/support/files.ts';

let store: Server;
let app: OwnApp;
beforeAll(async () => {
  store = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      response.writeHead(404, { 'Content-Type': 'application/xml' });
      response.end('<Error><Code>NoSuchBucket</Code></Error>');
    });
  }).listen(0, '127.0.0.1');
  await once(store, 'listening');
  app = await startTestApp({
    worker: false,
    environment: {
      S3_BUCKET: 'missing',
      S3_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
      S3_ACCESS_KEY_ID: 'key',
      S3_SECRET_ACCESS_KEY: 'secret',
    },
  });
});
afterAll(async () => {
  await app.stop();
  store.close();
});

test('a file store that fails is visible, refuses uploads with 503, and stops no messages', async () => {
  const ready = await fetch(`${app.url}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({
    status: 'degraded',
    checks: { storage: 'failed', postgresql: 'ok' },
  });
  const workspace = await createWorkspaceWithLine(app);
  const { status, body, headers } = await upload(app, workspace.key, {
    name: 'photo.png',
    content: PNG,
    type: 'image/png',
  });
  expect([status, body.code, body.error]).toEqual([
    503,
    'UNAVAILABLE',
    'The file store is unavailable; try again',
  ]);
  expect(headers.get('retry-after')).toBe('5');
  const message = { message: 'x', recipientPhone: '+14155550199' };
  expect((await workspace.api('POST', '/api/messages', message)).status).toBe(201);
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  expect(metrics).toMatch(/^linepace_storage_failures_total\{operation="put"\} [1-9]/m);
});
