import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiResponse, apiClient } from '#test/support/client.ts';
import {
  createAgency,
  createKey,
  createWorkspace,
  createWorkspaceWithLine,
  insertRow,
} from '#test/support/factories.ts';
import { lock, waitingForLocks } from '#test/support/locks.ts';

let app: OwnApp;
/** Far more requests than database connections. */
const MANY = 20;

beforeAll(async () => {
  app = await startTestApp({ worker: false, environment: { DATABASE_POOL_SIZE: '4' } });
});
afterAll(() => app.stop());

const times = (count: number, ask: () => Promise<ApiResponse>): Promise<ApiResponse>[] =>
  Array.from({ length: count }, ask);
const statuses = async (responses: Promise<ApiResponse>[]): Promise<number[]> => [
  ...new Set((await Promise.all(responses)).map(({ status }) => status)),
];

test('a mistyped key is refused without a query', async () => {
  const { key } = await createWorkspace(app);
  const owner = new pg.Client({ connectionString: app.ownerUrl });
  await owner.connect();
  await owner.query('begin; lock table workspace_keys');
  const lookup = apiClient(app.url, key)('GET', '/api/lists');
  await waitingForLocks(app, 1);
  const mistyped = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
  for (const wrong of [mistyped, key.slice(0, -1), 'svc_sk_x'])
    expect((await apiClient(app.url, wrong)('GET', '/api/lists')).status).toBe(401);
  await owner.query('commit');
  await owner.end();
  expect((await lookup).status).toBe(200);
});

describe('requests that wait for a lock', () => {
  it('of one workspace delay neither other workspaces nor authentication, and are all served', async () => {
    const [busy, other] = await Promise.all([createWorkspaceWithLine(app), createWorkspaceWithLine(app)]);
    const held = await lock(app, 'lines', busy.lineId);
    const stuck = times(MANY, () =>
      busy.api('PATCH', `/api/lines/${busy.lineId}`, { minGapSeconds: Math.floor(Math.random() * 100) }),
    );
    await waitingForLocks(app, 2);
    for (const path of ['/api/lists', '/api/lines/by-user', '/api/analytics', '/api/leads?search=ada']) {
      expect((await other.api('GET', path)).status, path).toBe(200);
    }
    expect((await other.api('PATCH', `/api/lines/${other.lineId}`, { minGapSeconds: 1 })).status).toBe(200);
    expect((await apiClient(app.url, `svc_sk_${'x'.repeat(43)}`)('GET', '/api/lists')).status).toBe(401);
    await held.release();
    expect(await statuses(stuck)).toEqual([200]);
  });

  it('of one workspace do not delay its own analytics and searches', async () => {
    const busy = await createWorkspaceWithLine(app);
    const held = await lock(app, 'lines', busy.lineId);
    const stuck = times(MANY, () => busy.api('PATCH', `/api/lines/${busy.lineId}`, { minGapSeconds: 5 }));
    await waitingForLocks(app, 2);
    expect((await busy.api('GET', '/api/analytics')).status).toBe(200);
    expect((await busy.api('GET', '/api/leads?search=ada')).status).toBe(200);
    await held.release();
    expect(await statuses(stuck)).toEqual([200]);
  });

  it('do not begin any more once their client has hung up', async () => {
    const { api, key } = await createWorkspaceWithLine(app);
    const owner = new pg.Client({ connectionString: app.ownerUrl });
    await owner.connect();
    await owner.query('begin; lock table conversation_notes');
    const search = '/api/conversations?q=ada';
    const stuck = api('GET', search);
    await waitingForLocks(app, 1);
    await eventually(async () => {
      const options = { headers: { Authorization: `Bearer ${key}` }, signal: AbortSignal.timeout(100) };
      await expect(fetch(app.url + search, options)).rejects.toThrow('timeout');
      const metrics = await (await fetch(`${app.url}/metrics`)).text();
      return /^linepace_http_requests_total\{.*route="listConversations".*status="499"/m.test(metrics);
    });
    await owner.query('commit');
    await owner.end();
    await stuck;
  });

  it('of one agency delay neither another agency nor any workspace', async () => {
    const [agency, otherAgency, other] = await Promise.all([
      createAgency(app),
      createAgency(app),
      createWorkspaceWithLine(app),
    ]);
    const client = await createWorkspace(app, { agency_id: agency.id });
    const webhookId = newId();
    await insertRow(app, 'webhooks', {
      workspace_id: client.id,
      id: webhookId,
      name: '',
      url: 'https://hooks.example/',
      events: ['message.sent'],
      secret_sealed: 'sealed',
    });
    const api = apiClient(app.url, agency.key);
    const held = await lock(app, 'webhooks', webhookId);
    const stuck = times(MANY, () => api('DELETE', `/api/agency/webhooks/${webhookId}`));
    await waitingForLocks(app, 1);
    expect((await other.api('GET', '/api/lists')).status).toBe(200);
    expect((await apiClient(app.url, otherAgency.key)('GET', '/api/agency/lines')).status).toBe(200);
    await held.release();
    expect((await statuses(stuck)).toSorted()).toEqual([200, 404]);
  });

  it('of one workspace do not prevent a burst of drips of another from being accepted', async () => {
    const [busy, sender] = await Promise.all([createWorkspaceWithLine(app), createWorkspaceWithLine(app)]);
    const held = await lock(app, 'lines', busy.lineId);
    const stuck = times(MANY, () => busy.api('PATCH', `/api/lines/${busy.lineId}`, { minGapSeconds: 5 }));
    await waitingForLocks(app, 2);
    let sent = 0;
    const burst = times(700, () =>
      sender.api('POST', '/api/drip', { message: `Burst ${sent++}`, recipientPhone: '+14155550188' }),
    );
    expect(await statuses(burst)).toEqual([202]);
    await held.release();
    await Promise.all(stuck);
  });

  it('of one workspace do not delay the drips of others that arrive with its own', async () => {
    const [busy, sender] = await Promise.all([createWorkspaceWithLine(app), createWorkspaceWithLine(app)]);
    const repeated = { message: 'Again', recipientPhone: '+14155550188' };
    expect((await busy.api('POST', '/api/drip', repeated)).status).toBe(202);
    const held = await lock(app, 'drip_claims', busy.id, 'workspace_id');
    const stuck: Promise<ApiResponse>[] = [];
    let sent = 0;
    const both = times(MANY, () => {
      stuck.push(busy.api('POST', '/api/drip', repeated));
      return sender.api('POST', '/api/drip', { message: `Also ${sent++}`, recipientPhone: '+14155550188' });
    });
    expect(await statuses(both)).toEqual([202]);
    await waitingForLocks(app, 1);
    await held.release();
    expect(await statuses(stuck)).toEqual([202]);
  });

  it('get a 503 with Retry-After if the lock is not released, and later requests succeed', async () => {
    const { id, lineId, api } = await createWorkspaceWithLine(app);
    const held = await lock(app, 'lines', lineId);
    const responses = await Promise.all(
      times(3, () => api('PATCH', `/api/lines/${lineId}`, { minGapSeconds: 7 })),
    );
    expect(responses.map(({ status, body }) => [status, body.code])).toEqual(
      Array.from({ length: 3 }, () => [503, 'UNAVAILABLE']),
    );
    for (const { headers } of responses) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    await held.release();
    const another = apiClient(app.url, await createKey(app, 'workspace', id));
    expect((await another('PATCH', `/api/lines/${lineId}`, { minGapSeconds: 7 })).status).toBe(200);
  });
});
