import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';

const ADD_ON = { firstName: 'Ada', lastName: 'Lovelace', channelType: 'email' };

let app: OwnApp;
let api: ApiClient;

// A real provider is configured, but nothing listens at its address.
beforeAll(async () => {
  app = await startTestApp({
    worker: false,
    environment: {
      STRIPE_SECRET_KEY: 'sk_live_unused',
      STRIPE_WEBHOOK_SECRET: 'whsec_unused',
      STRIPE_API_URL: 'http://127.0.0.1:9',
      STRIPE_PRICES: JSON.stringify({
        plans: { mini: 'price_1', starter: 'price_2', growth: 'price_3' },
        lines: { phone: 'price_4', email: 'price_5' },
      }),
    },
  });
  api = apiClient(app.url, (await createWorkspace(app)).key);
});
afterAll(() => app.stop());

test('a line request that cannot be charged is canceled and blocks no other', async () => {
  const key = { 'idempotency-key': 'while-down' };
  expect(await api('POST', '/api/line-requests', ADD_ON, key)).toMatchObject({
    status: 503,
    body: { code: 'UNAVAILABLE' },
  });
  const { lines } = (await api('GET', '/api/lines/by-user')).body;
  expect(lines.map(({ provisioningStatus }: { provisioningStatus: string }) => provisioningStatus)).toEqual([
    'canceled',
  ]);
  // The refusal is not stored under the key.
  expect((await api('POST', '/api/line-requests', ADD_ON, key)).status).toBe(503);
  expect((await api('POST', '/api/line-requests', { ...ADD_ON, channelType: 'imessage' })).body.status).toBe(
    'provisioning',
  );
});

test('a plan stays unchanged while the provider is down', async () => {
  const agency = await createAgency(app);
  const client = await createWorkspace(app, { agency_id: agency.id, plan: 'mini' });
  const agencyApi = apiClient(app.url, agency.key);
  const subscribe = () =>
    agencyApi('POST', '/api/agency/billing/subscribe', { workspaceId: client.id, plan: 'growth' });
  expect(await subscribe()).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
  expect(await subscribe()).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
  const { subAccounts } = (await agencyApi('GET', '/api/agency/subaccounts')).body;
  expect(subAccounts).toMatchObject([{ plan: 'mini', subscriptionStatus: 'active' }]);
});

test('the simulated payments do not exist if a real provider is configured', async () => {
  expect((await api('GET', '/simulated/pay/in_1')).status).toBe(404);
  expect((await api('POST', '/simulated/pay/in_1')).status).toBe(404);
  expect(
    (await api('POST', '/simulated/payments/settings', { workspaceId: 'org_1', cardDeclines: true })).status,
  ).toBe(404);
  expect((await api('GET', '/simulated/carrier/sent')).status).toBe(200);
});
