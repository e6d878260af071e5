import { beforeAll, expect, test } from 'vitest';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspace } from '#test/support/factories.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

const workspaceApi = async () => apiClient(app.url, (await createWorkspace(app)).key);

test('the first requests to /api/lists create Quick Sends once, even simultaneously', async () => {
  const { key, ownerId } = await createWorkspace(app);
  const api = apiClient(app.url, key);
  const responses = await Promise.all(Array.from({ length: 8 }, () => api('GET', '/api/lists')));
  const ids = responses.map(({ body }) =>
    body.lists.map(({ _id, name }: { _id: string; name: string }) => `${_id} ${name}`),
  );
  expect(new Set(ids.flat()).size).toBe(1);
  expect(responses[0]?.body.lists[0]).toMatchObject({
    name: 'Quick Sends',
    leadCount: 0,
    createdByUserId: ownerId,
  });
});

test('lists are created, renamed, deleted and listed newest first', async () => {
  const api = await workspaceApi();
  const made = await api('POST', '/api/lists', { name: 'First', description: 'of many' });
  expect(made).toMatchObject({
    status: 201,
    body: { list: { name: 'First', description: 'of many', leadCount: 0 } },
  });
  const second = (await api('POST', '/api/lists', { name: 'Second' })).body.list._id;
  const id = made.body.list._id;
  const names = async () =>
    (await api('GET', '/api/lists')).body.lists.map(({ name }: { name: string }) => name);
  expect(await names()).toEqual(['Quick Sends', 'Second', 'First']);
  expect((await api('PATCH', `/api/lists/${id}`, { name: 'Renamed' })).body.list).toMatchObject({
    name: 'Renamed',
    description: 'of many',
  });
  const { leadIds } = (await api('POST', '/api/leads', { listId: id, leads: [{ phone: '+14155550100' }] }))
    .body;
  expect((await api('DELETE', `/api/lists/${id}`)).status).toBe(200);
  expect((await api('GET', `/api/leads/${leadIds[0]}`)).status).toBe(404);
  expect((await api('DELETE', `/api/lists/${id}`)).status).toBe(404);
  expect(await names()).not.toContain('Renamed');
  expect(
    (await api('POST', '/api/leads', { listId: second, leads: [{ phone: '+14155550100' }] })).body.savedCount,
  ).toBe(1);
  expect((await api('POST', '/api/lists', { name: ' ' })).status).toBe(400);
});

test('Quick Sends cannot be renamed or deleted', async () => {
  const api = await workspaceApi();
  const id = (await api('GET', '/api/lists')).body.lists[0]._id;
  expect(await api('DELETE', `/api/lists/${id}`)).toMatchObject({
    status: 409,
    body: { code: 'QUICK_SENDS_STAYS' },
  });
  expect((await api('PATCH', `/api/lists/${id}`, { name: 'Mine' })).status).toBe(409);
  expect((await api('PATCH', `/api/lists/${id}`, { description: 'ours' })).body.list.description).toBe(
    'ours',
  );
  const stranger = await workspaceApi();
  expect((await stranger('DELETE', `/api/lists/${id}`)).status).toBe(404);
});

test('a workspace may list 120 times a minute, then gets a 429 with Retry-After', async () => {
  const api = await workspaceApi();
  const responses = await Promise.all(Array.from({ length: 121 }, () => api('GET', '/api/lists')));
  const refused = responses.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(1);
  expect(refused[0]?.body).toMatchObject({ error: 'Rate limit exceeded', code: 'RATE_LIMITED' });
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
});
