import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { freePort } from '#providers/free-port.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { hang, startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { startProcess } from '#test/support/process.ts';

let app: OwnApp;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

test(
  'a delivery that a crash cuts short is recorded as interrupted and never sent again',
  { timeout: 90_000 },
  async () => {
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id);
    const call = apiClient(app.url, workspace.key);
    const send = () => call('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
    const target = await startEndpoint(hang);
    const { body } = await call('POST', '/api/webhooks', { url: target.url, events: ['message.sent'] });
    const path = `/api/webhooks/${body.webhook._id}`;
    const port = await freePort();
    const [worker, api] = await Promise.all([
      startProcess('workers/worker.ts', app.config),
      startProcess('api/server.ts', app.config, port),
    ]);

    // One delivery in flight in the worker, and one in the API: a ping that the caller waits for.
    await send();
    await eventually(async () => target.received.length === 1);
    const ping = apiClient(`http://localhost:${port}`, workspace.key)('POST', `${path}/health-check`).catch(
      () => 'broken off',
    );
    await eventually(async () => target.received.length === 2);
    await Promise.all([worker.kill(), api.kill()]);
    expect(await ping).toBe('broken off');

    target.behave(204);
    await app.startWorker();
    // Polls the database, since the API limits reads.
    await eventually(
      () =>
        systemDb(app.pools).exists(
          sql.type(z.unknown())`select 1 from webhooks where id = ${body.webhook._id} and failure_count = 2`,
        ),
      60_000,
    );
    const { deliveries } = (await call('GET', `${path}/deliveries`)).body;
    expect(deliveries).toHaveLength(2);
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({
        success: false,
        responseStatus: null,
        error: 'interrupted',
        attemptCount: 1,
      });
    }
    expect(target.received).toHaveLength(2);

    // Later events are delivered; the interrupted ones are still not repeated.
    await send();
    await eventually(async () => target.received.length === 3);
    expect(new Set(target.received.map(({ headers }) => headers['x-svc-delivery-id'])).size).toBe(3);
    await target.close();
  },
);
