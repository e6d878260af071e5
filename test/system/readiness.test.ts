import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#providers/free-port.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { startSomebodyElse } from '#test/conformance/http-carrier-worlds.ts';
import { startTlsProxy } from '#test/support/tls-proxy.ts';
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '#test/support/openid-provider.ts';

let provider: OpenIdProvider;
let issuer: string;
beforeAll(async () => {
  const port = await freePort();
  issuer = `http://127.0.0.1:${port}`;
  provider = await startOpenIdProvider(port, 'http://localhost:1');
});
afterAll(() => provider.stop());

const readiness = async ({ url }: OwnApp) => {
  const response = await fetch(`${url}/readyz`);
  expect(response.status).toBe(200);
  return (await response.json()) as { status: string; checks: Record<string, string> };
};
const metricOf = async ({ url }: OwnApp): Promise<string | undefined> =>
  /^linepace_part_up\{part="identityProvider"\} (\d)$/m.exec(
    await (await fetch(`${url}/metrics`)).text(),
  )?.[1];

test.each([
  [
    'its configuration',
    () => ({ AUTH_ISSUER: issuer, AUTH_CLIENT_ID: CLIENT.id, AUTH_CLIENT_SECRET: CLIENT.secret }),
  ],
  ['its keys', () => ({ AUTH_ISSUER: issuer, AUTH_JWKS_URL: `${issuer}/jwks` })],
])(
  'an identity provider that does not give %s makes the API degraded, until it does',
  async (_, settings) => {
    provider.isUp = false;
    const app = await startTestApp({ worker: false, environment: settings() });
    try {
      expect(await readiness(app)).toMatchObject({
        status: 'degraded',
        checks: { identityProvider: 'failed', postgresql: 'ok' },
      });
      expect(await metricOf(app)).toBe('0');
      provider.isUp = true;
      await eventually(async () => (await readiness(app)).checks['identityProvider'] === 'ok');
      expect(await metricOf(app)).toBe('1');
    } finally {
      await app.stop();
    }
  },
);

test('a payment provider that refuses the key makes the API degraded, until it does not, and security.txt says whom to tell', async () => {
  const folder = join(import.meta.dirname, '../fixtures/tls');
  const stripe = await startSomebodyElse();
  stripe.answer(401, 'application/json', '{}');
  const proxy = await startTlsProxy(folder);
  proxy.to(Number(new URL(stripe.url).port));
  const prices = { plans: { mini: 'm', starter: 's', growth: 'g' }, lines: { phone: 'p', email: 'e' } };
  const contact = 'mailto:security@linepace.example';
  const app = await startTestApp({
    worker: false,
    environment: {
      SECURITY_CONTACT: contact,
      STRIPE_SECRET_KEY: 'sk',
      STRIPE_WEBHOOK_SECRET: 'whsec',
      STRIPE_PRICES: JSON.stringify(prices),
      STRIPE_API_URL: `https://localhost:${proxy.port}`,
      STRIPE_CA_FILE: join(folder, 'authority.pem'),
    },
  });
  try {
    expect(await readiness(app)).toMatchObject({ status: 'degraded', checks: { payments: 'failed' } });
    stripe.answer(200, 'application/json', '{"object":"price"}');
    await eventually(async () => (await readiness(app)).checks['payments'] === 'ok');
    const reports = await fetch(`${app.url}/.well-known/security.txt`);
    expect([reports.status, reports.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const fields = new Map(
      (await reports.text()).split('\n').map((line) => line.split(/: (.*)/) as [string, string]),
    );
    expect(fields.get('Contact')).toBe(contact);
    expect(Date.parse(fields.get('Expires') ?? '')).toBeGreaterThan(Date.now());
  } finally {
    await Promise.all([app.stop(), proxy.close(), stripe.stop()]);
  }
});

test('a part that is not configured is not shown', async () => {
  const app = await startTestApp({ worker: false });
  try {
    const { status, checks } = await readiness(app);
    expect(status).toBe('ready');
    expect(Object.keys(checks).toSorted()).toEqual([
      'keys',
      'migrations',
      'postgresql',
      'storage',
      'temporal',
    ]);
    expect((await fetch(`${app.url}/.well-known/security.txt`)).status).toBe(404);
  } finally {
    await app.stop();
  }
});
