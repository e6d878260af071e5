import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { startApi } from '#api/server.ts';
import { newId, newUserId, newWorkspaceId } from '#domain/base/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiResponse, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { CLIENT, startOpenIdProvider } from '#test/support/openid-provider.ts';
import { signIn } from '#test/support/sessions.ts';

let app: OwnApp;
let workspace: TestWorkspace;
let agencyKey: string;
let session: string;
let lineId: string;
let mailboxLine: string;

/** The limit per minute. */
const ALLOWED = 60;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
  workspace = await createWorkspace(app);
  agencyKey = (await createAgency(app)).key;
  session = await signIn(app, {
    userId: workspace.ownerId,
    organizationId: workspace.id,
    role: 'org:admin',
  });
  lineId = await createLine(app, workspace.id);
  mailboxLine = await createLine(app, workspace.id, 'email', {
    carrier: 'smtp',
    carrier_config: JSON.stringify({ host: 'mail.example', port: 587 }),
  });
});
afterAll(() => app.stop());

const guess = (): string => createHmac('sha256', newId()).update('guess').digest('base64url');
const get = (path: string, credential = ''): Promise<ApiResponse> =>
  apiClient(app.url, credential)('GET', path);
const post = (path: string, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  apiClient(app.url, '')('POST', path, '{}', headers);

/** Every way to guess a credential, and the status of the refusal. */
const ATTEMPTS: Record<string, { status: number; ask: () => Promise<ApiResponse> }> = {
  'a workspace key': { status: 401, ask: () => get('/api/lists', `svc_sk_${guess()}`) },
  'an agency key': { status: 401, ask: () => get('/api/agency/lines', `svcagency_${guess()}`) },
  'a session token': {
    status: 401,
    ask: () => get('/api/lists', `${session.slice(0, -20)}${'A'.repeat(20)}`),
  },
  'an invitation': { status: 404, ask: () => get(`/invitations/${guess()}`) },
  'the acceptance of an invitation': { status: 404, ask: () => post(`/invitations/${guess()}`) },
  'a code of the console': {
    status: 401,
    ask: () => apiClient(app.url, '')('POST', '/api/console/session', { code: guess() }),
  },
  'a link of a message': { status: 404, ask: () => get(`/l/${guess().slice(0, 28)}`) },
  'a link to turn off notifications': {
    status: 404,
    ask: () => get(`/notifications/${newWorkspaceId()}.${newUserId()}.reply.${guess()}`),
  },
  'a link to unsubscribe': {
    status: 404,
    ask: () => post(`/unsubscribe/${newWorkspaceId()}.${newId()}.${guess()}`),
  },
  'a link to a file': {
    status: 403,
    ask: () => get(`/attachments/${workspace.id}/${newId()}/a.pdf?expires=9999999999&signature=${guess()}`),
  },
  'the signature of a carrier': {
    status: 401,
    ask: () =>
      post(`/callbacks/carriers/simulated/${lineId}`, {
        'webhook-id': 'x',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': `v1,${guess()}`,
      }),
  },
  'the line of a callback': { status: 404, ask: () => post(`/callbacks/carriers/simulated/${newId()}`) },
  'the signature of the payment provider': {
    status: 401,
    ask: () =>
      post('/callbacks/payments', {
        'stripe-signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`,
      }),
  },
};

describe('failed attempts of one client', () => {
  it('are refused as usual up to the limit, which forwarding headers do not evade', async () => {
    const each = Object.entries(ATTEMPTS);
    for (let made = 0; made < ALLOWED; made++) {
      const [name, { status, ask }] = each[made % each.length] as (typeof each)[number];
      expect((await ask()).status, name).toBe(status);
    }
    const spoofed = await apiClient(app.url, `svc_sk_${guess()}`)('GET', '/api/lists', undefined, {
      'x-forwarded-for': '203.0.113.7',
      'x-real-ip': '203.0.113.7',
      forwarded: 'for=203.0.113.7',
    });
    expect(spoofed.status).toBe(429);
  });

  it.each(Object.entries(ATTEMPTS))('are refused with 429 beyond the limit: %s', async (_, { ask }) => {
    const { status, headers, body } = await ask();
    expect([status, body.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
  });

  it('do not lock out valid credentials', async () => {
    expect((await get('/api/lists', workspace.key)).status).toBe(200);
    expect((await get('/api/lists', session)).status).toBe(200);
    expect((await get('/api/agency/lines', agencyKey)).status).toBe(200);
    const form = new FormData();
    form.set('file', new Blob(['%PDF-1.7 a']), 'a.pdf');
    const upload = await fetch(`${app.url}/api/attachments/upload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${workspace.key}` },
      body: form,
    });
    const { url } = (await upload.json()) as { url: string };
    expect((await fetch(url)).status).toBe(200);
  });

  it('do not include requests without a credential', async () => {
    expect((await get('/api/lists')).status).toBe(401);
  });
});

test('a callback without the secret in its URL is refused before its body is read', async () => {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  // Announces ten megabytes and sends none.
  socket.write(
    `POST /callbacks/carriers/smtp/${mailboxLine}?secret=wrong HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n`,
  );
  const [response] = (await new Promise<Buffer[]>((resolve, reject) => {
    socket.once('data', (data: Buffer) => resolve([data]));
    socket.once('error', reject);
  })) as [Buffer];
  expect(response.toString()).toMatch(/^HTTP\/1\.1 (401|429) /);
  socket.destroy();
});

test('an answer of the identity provider is counted before the provider is asked about it', async () => {
  const provider = await startOpenIdProvider(await freePort(), app.url);
  const api = await startApi({
    ...app.config,
    auth: { ...app.config.auth, issuer: provider.issuer, client: CLIENT },
    failedAttemptsPerMinute: 1000,
    port: 0,
  });
  const begun = await fetch(`${api.url}/auth/sign-in`, { redirect: 'manual' });
  const cookie = /^[^;]+/.exec(begun.headers.get('set-cookie') ?? '')?.[0] ?? '';
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
  const query = new URLSearchParams({ code: 'of nobody', state, iss: provider.issuer });
  const statuses = await Promise.all(
    Array.from({ length: ALLOWED + 10 }, async () => {
      const url = `${api.url}/auth/callback?${query.toString()}`;
      return (await fetch(url, { headers: { cookie }, redirect: 'manual' })).status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([400, 429]));
  expect(provider.asked).toBe(statuses.filter((status) => status === 400).length);
  expect(provider.asked).toBeLessThanOrEqual(ALLOWED);
  await api.stop();
  await provider.stop();
});
