import { copyFile, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { createTemporalClient } from '#providers/temporal.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { startWorker } from '#workers/worker.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import {
  certificate,
  fingerprintOf,
  startTemporalProxy,
  type TemporalProxy,
} from '#test/support/temporal-proxy.ts';

const API_KEY = 'the-api-key-of-the-namespace';

let proxy: TemporalProxy;
let app: OwnApp;

beforeAll(async () => {
  proxy = await startTemporalProxy(inject('temporalAddress'), API_KEY);
  app = await startTestApp({
    environment: {
      TEMPORAL_ADDRESS: proxy.address,
      TEMPORAL_API_KEY: API_KEY,
      TEMPORAL_TLS_SERVER_NAME: 'temporal.test',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: certificate('authority'),
      TEMPORAL_TLS_CLIENT_CERT_PATH: certificate('client'),
      TEMPORAL_TLS_CLIENT_KEY_PATH: certificate('client-key'),
    },
  });
});
afterAll(async () => {
  await app.stop();
  await proxy.stop();
});

describe('a managed Temporal', () => {
  it('is used over TLS with a client certificate and an API key, without adding search attributes', async () => {
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id);
    const call = apiClient(app.url, workspace.key);
    const to = phone();
    const { status } = await call('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
    expect(status).toBe(201);
    await eventually(async () => (await sentTo(app, to)).length === 1);
    expect(await fetch(`${app.url}/readyz`)).toMatchObject({ status: 200 });
    expect(proxy.unauthorized).toEqual([]);
  });

  it.each([
    ['without the client certificate', { clientCertPath: null, clientKeyPath: null }],
    ['with a server name that its certificate lacks', { serverName: 'another.test' }],
    ['without the certificate authority', { serverCaCertPath: null }],
  ])('cannot be used %s', async (_, change) => {
    const { temporal } = app.config;
    const client = createTemporalClient({ ...temporal, tls: temporal.tls && { ...temporal.tls, ...change } });
    const response = client.withDeadline(Date.now() + 2000, () => client.workflow.count());
    await expect(response).rejects.toThrow(/Failed|error/i);
    await client.connection.close();
  });

  it('is used with a new API key and a new certificate, without a restart', async () => {
    const folder = await mkdtemp(join(inject('runFolder'), 'credentials-'));
    const file = (name: string): string => join(folder, name);
    const install = (name: string) =>
      Promise.all([
        copyFile(certificate(name), file('client.pem')),
        copyFile(certificate(`${name}-key`), file('client-key.pem')),
      ]);
    await install('client');
    const exp = Math.floor(Date.now() / 1000) + 86_400;
    const tokenOf = (name: string): string =>
      ['{}', JSON.stringify({ name, exp }), name]
        .map((part) => Buffer.from(part).toString('base64url'))
        .join('.');
    await writeFile(file('key'), `${tokenOf('first')}\n`);
    proxy.accept(
      [API_KEY, tokenOf('first'), tokenOf('second')],
      [certificate('client'), certificate('server')],
    );
    const { tls } = app.config.temporal;
    const temporal = {
      ...app.config.temporal,
      apiKey: null,
      apiKeyPath: file('key'),
      tls: tls && { ...tls, clientCertPath: file('client.pem'), clientKeyPath: file('client-key.pem') },
    };
    await app.stopWorker();
    const client = createTemporalClient(temporal);
    const metricsPort = await freePort();
    const config = { ...app.config, metricsPort, temporal };
    const worker = await startWorker(config, { codePath: inject('workflowBundle') });
    const works = () =>
      client.workflow.execute('sweep', { taskQueue: MAIN_QUEUE, workflowId: `sweep-${newId()}` });
    await eventually(works);
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const expires = (credential: string) =>
      Number(
        new RegExp(
          `^linepace_temporal_credential_expires_timestamp_seconds{credential="${credential}"} (.*)$`,
          'm',
        ).exec(metrics)?.[1],
      );
    expect(expires('API key')).toBe(exp);
    expect(expires('certificate')).toBeGreaterThan(exp);

    await writeFile(file('key'), tokenOf('second'));
    await eventually(async () => proxy.seen.has(tokenOf('second')) && works());
    await install('server');
    await eventually(async () => proxy.seen.has(fingerprintOf(certificate('server'))));
    proxy.accept([API_KEY, tokenOf('second')], [certificate('server')]);
    await eventually(works, 90_000);

    await worker.stop();
    await client.connection.close();
  }, 300_000);
});
