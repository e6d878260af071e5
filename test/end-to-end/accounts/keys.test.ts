import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { startApi } from '#api/server.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: TestWorkspace;
let admin: ApiClient;
/** An API process behind one trusted proxy. */
let behindProxy: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
  behindProxy = await startApi({ ...app.config, port: 0, trustedProxies: 1 });
});
afterAll(() => behindProxy.stop());
beforeEach(async () => {
  workspace = await createWorkspace(app);
  const { ownerId: userId, id: organizationId } = workspace;
  admin = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
});

const make = async (settings: object) => {
  const { status, body } = await admin('POST', '/api/keys', { name: 'CRM', ...settings });
  expect(status).toBe(201);
  return body;
};
const statusOf = async (key: string): Promise<number> =>
  (await apiClient(app.url, key)('GET', '/api/lists')).status;

describe('a new key', () => {
  it('may do everything from everywhere, unless it is restricted', async () => {
    expect(await make({})).toMatchObject({
      scopes: ['read', 'send', 'draft', 'manage'],
      allowedIps: null,
      expiresAt: null,
    });
    const restricted = await make({
      scopes: ['send', 'read', 'send'],
      allowedIps: ['203.0.113.7', '2001:db8::1/32'],
      expiresInDays: 30,
    });
    expect(restricted).toMatchObject({
      scopes: ['read', 'send'],
      allowedIps: ['203.0.113.7/32', '2001:db8::/32'],
    });
    const days = (Date.parse(restricted.expiresAt) - Date.parse(restricted.createdAt)) / 86_400_000;
    expect(days).toBeCloseTo(30, 2);
    const { body } = await admin('GET', '/api/keys');
    const { key: _, success: __, ...record } = restricted;
    expect(body.keys[0]).toEqual(record);
  });

  it.each([
    ['scopes', { scopes: [] }],
    ['scopes.0', { scopes: ['write'] }],
    ['allowedIps', { allowedIps: [] }],
    ['allowedIps.1', { allowedIps: ['203.0.113.7', 'office'] }],
    ['expiresInDays', { expiresInDays: 0 }],
    ['expiresAt', { expiresAt: '2001-01-01T00:00:00Z' }],
    ['expiresInDays', { expiresInDays: 3, expiresAt: '2100-01-01T00:00:00Z' }],
  ])('names the field %s that is not valid', async (path, settings) => {
    const { status, body } = await admin('POST', '/api/keys', { name: 'CRM', ...settings });
    expect([status, body.issues?.[0]?.path]).toEqual([400, path]);
  });

  it('is in the audit log with its restrictions', async () => {
    const { _id } = await make({ scopes: ['read'], allowedIps: ['203.0.113.7'] });
    const { body } = await admin('GET', `/api/audit-log?targetId=${_id}`);
    expect(body.entries[0]).toMatchObject({
      action: 'key.created',
      changes: { name: 'CRM', scopes: ['read'], allowedIps: ['203.0.113.7/32'] },
    });
  });
});

describe('a key for addresses', () => {
  it('is refused from any other', async () => {
    const elsewhere = await make({ allowedIps: ['203.0.113.0/24'] });
    const refused = await apiClient(app.url, elsewhere.key)('GET', '/api/lists');
    expect([refused.status, refused.body.code]).toEqual([403, 'IP_NOT_ALLOWED']);
    const here = await make({ allowedIps: ['127.0.0.0/8', '::1'] });
    expect(await statusOf(here.key)).toBe(200);
  });

  it('is judged by the address that the trusted proxy reports, and no other header', async () => {
    const { key } = await make({ allowedIps: ['203.0.113.0/24', '2001:db8::/32'] });
    const from = async (url: string, address: string): Promise<number> =>
      (await apiClient(url, key)('GET', '/api/lists', undefined, { 'x-forwarded-for': address })).status;
    expect(await from(behindProxy.url, '203.0.113.9')).toBe(200);
    expect(await from(behindProxy.url, '2001:db8::9')).toBe(200);
    expect(await from(behindProxy.url, '198.51.100.9')).toBe(403);
    // A client can claim any address before the one that the proxy appends.
    expect(await from(behindProxy.url, '203.0.113.9, 198.51.100.9')).toBe(403);
    expect(await from(app.url, '203.0.113.9')).toBe(403);
  });
});

describe('rolling a key', () => {
  it('makes a key with the same settings; both work until the old one ends', async () => {
    const old = await make({ scopes: ['read'], allowedIps: ['127.0.0.1', '::1'], expiresInDays: 10 });
    const { status, body } = await admin('POST', `/api/keys/${old._id}/roll`, { overlapHours: 2 });
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: 'CRM', scopes: ['read'], allowedIps: old.allowedIps });
    expect(body.previousKey._id).toBe(old._id);
    const hours = (Date.parse(body.previousKey.expiresAt) - Date.parse(body.createdAt)) / 3_600_000;
    expect(hours).toBeCloseTo(2, 2);
    const days = (Date.parse(body.expiresAt) - Date.parse(body.createdAt)) / 86_400_000;
    expect(days).toBeCloseTo(10, 2);
    expect([await statusOf(old.key), await statusOf(body.key)]).toEqual([200, 200]);
    const { body: log } = await admin('GET', `/api/audit-log?targetId=${old._id}`);
    expect(log.entries[0]).toMatchObject({ action: 'key.rolled' });
  });

  it('ends the old one at once without an overlap, and only once', async () => {
    const old = await make({});
    expect(await statusOf(old.key)).toBe(200);
    const { body } = await admin('POST', `/api/keys/${old._id}/roll`, { overlapHours: 0 });
    expect([await statusOf(old.key), await statusOf(body.key)]).toEqual([401, 200]);
    const again = await admin('POST', `/api/keys/${old._id}/roll`, {});
    expect([again.status, again.body.code]).toEqual([409, 'INVALID_STATE']);
  });

  it('is refused for a key that was rolled before, and its successor still has no expiry', async () => {
    const old = await make({});
    const roll = (id: string) => admin('POST', `/api/keys/${id}/roll`, { overlapHours: 24 });
    const first = (await roll(old._id)).body;
    const again = await roll(old._id);
    expect([again.status, again.body.code]).toEqual([409, 'INVALID_STATE']);
    expect(await statusOf(old.key)).toBe(200);
    const second = (await roll(first._id)).body;
    expect([first.expiresAt, second.expiresAt]).toEqual([null, null]);
  });

  it('never lets the old one live longer', async () => {
    const soon = new Date(Date.now() + 60_000).toISOString();
    const old = await make({ expiresAt: soon });
    const { body } = await admin('POST', `/api/keys/${old._id}/roll`, { overlapHours: 168 });
    expect(body.previousKey.expiresAt).toBe(soon);
  });
});

test('a key shows when it was last used', async () => {
  const { key, _id } = await make({});
  await statusOf(key);
  await eventually(async () => {
    const { body } = await admin('GET', '/api/keys');
    return body.keys.find((one: { _id: string }) => one._id === _id).lastUsedAt !== null;
  });
});
