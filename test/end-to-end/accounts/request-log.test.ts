import { beforeAll, expect, test } from 'vitest';
import type { LoggedRequest } from '#domain/accounts/request-log.ts';
import { newUserId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createKey,
  createWorkspace,
  createWorkspaceWithLine,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: TestWorkspace;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
  workspace = await createWorkspace(app);
});

/** The log once it has so many entries, oldest first, without the requests that read it. */
const logOf = (api: ApiClient, count: number, query = ''): Promise<LoggedRequest[]> =>
  eventually(async () => {
    const { body } = await api('GET', `/api/requests?limit=200${query}`);
    const found: LoggedRequest[] = body.requests
      .filter(({ path }: LoggedRequest) => path !== '/api/requests')
      .toReversed();
    return found.length >= count && found;
  });

const shown = (entries: LoggedRequest[]) =>
  entries.map(({ method, path, status, code }) => [method, path, status, code]);

test('tells of each request what was called, by whom, and how it ended, without addresses or ids', async () => {
  const { api, id, ownerId } = workspace;
  const address = phone();
  await api('GET', `/api/conversations/${encodeURIComponent(address)}?limit=5`);
  await api('GET', '/api/messages?search=secret', undefined, { 'x-request-id': 'my-request-1' });
  const created = await api('POST', '/api/snippets', { name: 'Hours', text: 'secret text' });
  await api('PATCH', `/api/snippets/${created.body.snippet._id}`, { name: '' });
  const member = newUserId();
  await insertRow(app, 'users', { id: member, email: `${member}@example.test`, name: 'Casey' });
  await insertRow(app, 'workspace_members', { workspace_id: id, user_id: member, role: 'org:member' });
  const session = await sessionClient(app, { userId: member, organizationId: id, role: 'org:member' });
  expect((await session('GET', '/api/requests')).body.code).toBe('ADMIN_REQUIRED');
  await session('GET', '/api/keys');
  expect((await apiClient(app.url, `${workspace.key}x`)('GET', '/api/messages')).status).toBe(401);

  const log = await logOf(api, 5);
  expect(shown(log)).toEqual([
    ['GET', '/api/conversations/{address}', 404, 'NOT_FOUND'],
    ['GET', '/api/messages', 200, null],
    ['POST', '/api/snippets', 201, null],
    ['PATCH', '/api/snippets/{id}', 400, 'VALIDATION_ERROR'],
    ['GET', '/api/keys', 403, 'ADMIN_REQUIRED'],
  ]);
  expect(log[1]).toMatchObject({
    requestId: 'my-request-1',
    actor: { type: 'key', id: expect.any(String), name: 'Test' },
    durationMs: expect.any(Number),
    count: 1,
  });
  expect(log[4]?.actor).toEqual({ type: 'user', id: member, name: 'Casey' });
  expect(JSON.stringify(log)).not.toMatch(/secret|limit=5/);
  expect(JSON.stringify(log)).not.toContain(address.slice(1));

  const key = log[0]?.actor.id ?? '';
  const filtered = async (query: string) => shown(await logOf(api, 1, query)).map(([, path]) => path);
  expect(await filtered('&status=404')).toEqual(['/api/conversations/{address}']);
  expect(await filtered('&status=4xx&method=PATCH')).toEqual(['/api/snippets/{id}']);
  expect(await filtered(`&actorId=${member}&path=/api/keys`)).toEqual(['/api/keys']);
  expect(await filtered(`&actorId=${key}&status=2xx`)).toEqual(['/api/messages', '/api/snippets']);
  expect(await filtered('&code=ADMIN_REQUIRED')).toEqual(['/api/keys']);
  expect(await filtered('&actorType=user')).toEqual(['/api/keys']);
  expect(await filtered('&actorType=key&status=404')).toEqual(['/api/conversations/{address}']);
  const { at } = log[2] as LoggedRequest;
  expect(await filtered(`&since=${at}&until=${at}`)).toContain('/api/snippets');
  const { body } = await api('GET', '/api/requests?status=4x');
  expect([body.code, body.issues[0].path]).toEqual(['VALIDATION_ERROR', 'status']);

  const owner = await sessionClient(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
  const paged: number[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { body: found } = await owner('GET', `/api/requests?status=4xx&limit=1${cursor}`);
    paged.push(...found.requests.map(({ status }: LoggedRequest) => status));
    cursor = found.nextCursor === null ? null : `&cursor=${found.nextCursor}`;
  }
  expect(paged.slice(-3)).toEqual([403, 400, 404]);
  const stranger = await createWorkspace(app);
  expect(await logOf(stranger.api, 0)).toEqual([]);
});

test('needs a key that manages', async () => {
  const key = await createKey(app, 'workspace', workspace.id, { scopes: '{read}' });
  const { status, body } = await apiClient(app.url, key)('GET', '/api/requests');
  expect([status, body.required]).toEqual([403, 'manage']);
});

test('counts every request to bulk intake, in a few entries', async () => {
  const { api } = await createWorkspaceWithLine(app);
  const sent = await Promise.all(
    Array.from({ length: 40 }, () => api('POST', '/api/drip', { message: 'Hi', recipientPhone: phone() })),
  );
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([202]));
  const entries = await eventually(async () => {
    const found = await logOf(api, 1, '&path=/api/drip');
    return found.reduce((sum, { count }) => sum + count, 0) === 40 && found;
  });
  expect(entries.length).toBeLessThan(20);
});
