import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTemporalClient } from '#providers/temporal.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { certificate, startTemporalProxy, type TemporalProxy } from '#test/support/temporal-proxy.ts';

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
});
