import { beforeAll, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient, type ApiClient } from '#test/support/client.ts';
import { createKey, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

interface World extends WorkspaceWithLine {
  listId: string;
  otherId: string;
  ids: string[];
}

async function createList(api: ApiClient, name: string): Promise<string> {
  return (await api('POST', '/api/lists', { name })).body.list._id;
}

async function createLeads(api: ApiClient, listId: string, leads: object[]): Promise<string[]> {
  if (leads.length === 0) return [];
  const { status, body } = await api('POST', '/api/leads', { listId, leads });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.leadIds;
}

/** Two lists, the first with leads. */
async function createWorld(count = 3): Promise<World> {
  const workspace = await createWorkspaceWithLine(app);
  const [listId, otherId] = [
    await createList(workspace.api, 'First'),
    await createList(workspace.api, 'Other'),
  ];
  const leads = Array.from({ length: count }, (_, at) => ({ firstName: `Ada ${at}`, phone: phone() }));
  return { ...workspace, listId, otherId, ids: (await createLeads(workspace.api, listId, leads)).toSorted() };
}

async function change(api: ApiClient, body: Record<string, unknown>) {
  const { status, body: result } = await api('POST', '/api/leads/bulk', body);
  expect(status, JSON.stringify(result)).toBe(200);
  return result;
}

const undo = (api: ApiClient, { id }: { id: string }) => api('POST', `/api/leads/bulk/${id}/undo`);
const idsIn = async (api: ApiClient, listId: string): Promise<string[]> =>
  (await api('GET', `/api/leads?listId=${listId}&limit=200`)).body.leads
    .map(({ _id }: { _id: string }) => _id)
    .toSorted();
const countOf = async (api: ApiClient, listId: string) =>
  (await api('GET', '/api/lists')).body.lists.find(({ _id }: { _id: string }) => _id === listId).leadCount;

test('adds, moves and removes leads with the numbers of the lists, and undoes each', async () => {
  const { api, listId, otherId, ids } = await createWorld();
  const lists = async () => [
    (await idsIn(api, listId)).length,
    await countOf(api, listId),
    (await idsIn(api, otherId)).length,
    await countOf(api, otherId),
  ];
  const stranger = newId();
  const added = await change(api, {
    leadIds: [...ids.slice(0, 2), stranger],
    change: { addToListId: otherId },
  });
  expect(added).toMatchObject({ changed: 2, skipped: [{ item: stranger, reason: 'not_found' }] });
  expect(await lists()).toEqual([3, 3, 2, 2]);

  const removed = await change(api, { filter: { listId }, change: { removeFromListId: listId } });
  expect(removed).toMatchObject({ changed: 2, skipped: [{ item: ids[2], reason: 'only_list' }] });
  expect(await lists()).toEqual([1, 1, 2, 2]);
  expect((await api('GET', `/api/leads/${ids[0]}`)).body.lead.listId).toBe(otherId);
  expect((await undo(api, removed.undo)).body).toMatchObject({ changed: 2, skipped: [] });
  expect(await lists()).toEqual([3, 3, 2, 2]);
  // The third has come into the other list since, so only what was added there goes.
  expect((await undo(api, added.undo)).body).toMatchObject({ changed: 2 });
  expect(await lists()).toEqual([3, 3, 0, 0]);

  const move = { filter: { listId }, change: { addToListId: otherId, removeFromListId: listId } };
  expect(await change(api, { ...move, dryRun: true })).toMatchObject({
    changed: 3,
    dryRun: true,
    undo: null,
  });
  expect(await lists()).toEqual([3, 3, 0, 0]);
  const moved = await change(api, move);
  expect(moved).toMatchObject({ changed: 3, skipped: [] });
  expect(await lists()).toEqual([0, 0, 3, 3]);
  expect((await api('DELETE', `/api/leads/${ids[0]}`)).status).toBe(200);
  expect((await undo(api, moved.undo)).body).toMatchObject({
    changed: 2,
    skipped: [{ item: ids[0], reason: 'not_found' }],
  });
  expect(await lists()).toEqual([2, 2, 0, 0]);
  expect((await api('GET', `/api/leads/${ids[1]}`)).body.lead.listId).toBe(listId);
});

test('leaves out a lead whose addresses another lead of the list has, and one whose list is gone', async () => {
  const { api, listId, otherId } = await createWorld(0);
  const shared = phone();
  const [mine = ''] = await createLeads(api, listId, [{ phone: shared }]);
  await createLeads(api, otherId, [{ phone: shared }]);
  const move = { leadIds: [mine], change: { addToListId: otherId, removeFromListId: listId } };
  expect(await change(api, move)).toMatchObject({
    changed: 0,
    skipped: [{ item: mine, reason: 'duplicate' }],
  });
  expect(await idsIn(api, listId)).toEqual([mine]);
  const third = await createList(api, 'Third');
  const moved = await change(api, {
    leadIds: [mine],
    change: { addToListId: third, removeFromListId: listId },
  });
  expect((await api('DELETE', `/api/lists/${listId}`)).status).toBe(200);
  expect((await undo(api, moved.undo)).body).toMatchObject({
    changed: 0,
    skipped: [{ item: mine, reason: 'list_deleted' }],
  });
  expect((await api('POST', '/api/leads/bulk', move)).status).toBe(404);
});

test('sets and removes custom fields and the owner, and restores them unless they were changed since', async () => {
  const { api, ids } = await createWorld(2);
  const [first, second] = ids;
  const set = async (customFields: object) =>
    expect((await api('PATCH', `/api/leads/${first}`, { customFields })).status).toBe(200);
  const fields = async () =>
    Promise.all(ids.map(async (id) => (await api('GET', `/api/leads/${id}`)).body.lead.customFields));
  await set({ tier: 'gold', city: 'Lisbon' });
  const changed = await change(api, {
    leadIds: ids,
    change: { customFields: { tier: 'silver', city: null, source: 'fair' } },
  });
  expect(changed).toMatchObject({ changed: 2, skipped: [] });
  const after = { tier: 'silver', source: 'fair' };
  expect(await fields()).toEqual([after, after]);
  await set({ ...after, tier: 'bronze' });
  expect((await undo(api, changed.undo)).body).toMatchObject({
    changed: 1,
    skipped: [{ item: first, reason: 'changed_since' }],
  });
  expect(await fields()).toEqual([{ ...after, tier: 'bronze' }, {}]);

  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`field ${at}`, 'x']));
  await set(many);
  expect(await change(api, { leadIds: ids, change: { customFields: { another: 'x' } } })).toMatchObject({
    changed: 1,
    skipped: [{ item: first, reason: 'too_many_fields' }],
  });
  expect(await change(api, { leadIds: [second], change: { contactOwnerEmail: null } })).toMatchObject({
    matched: 1,
  });
});

test('deletes and opts out as single requests do, which cannot be undone', async () => {
  const { api, id, listId, ids } = await createWorld(3);
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const messages = await Promise.all(
    ids.map(async (leadId) => {
      const { phone: recipientPhone } = (await api('GET', `/api/leads/${leadId}`)).body.lead;
      const body = { leadId, recipientPhone, message: 'Hi', scheduledDate: later };
      return (await api('POST', '/api/messages', body)).body._id;
    }),
  );
  const statuses = async () =>
    Promise.all(messages.map(async (one) => (await api('GET', `/api/messages/${one}`)).body.status));
  const optedOut = await change(api, { leadIds: ids.slice(0, 1), change: { optOut: true } });
  expect(optedOut).toMatchObject({ changed: 1, undo: null });
  expect(await statuses()).toEqual(['failed', 'scheduled', 'scheduled']);
  expect(await change(api, { leadIds: ids.slice(0, 1), change: { optOut: true } })).toMatchObject({
    changed: 0,
    skipped: [{ item: ids[0], reason: 'unchanged' }],
  });

  const sender = apiClient(app.url, await createKey(app, 'workspace', id, { scopes: ['send'] }));
  const deletion = { leadIds: ids, change: { delete: true } };
  expect(await sender('POST', '/api/leads/bulk', deletion)).toMatchObject({
    status: 403,
    body: { code: 'INSUFFICIENT_SCOPE' },
  });
  expect(await change(api, { ...deletion, dryRun: true })).toMatchObject({ changed: 3 });
  expect(await statuses()).toEqual(['failed', 'scheduled', 'scheduled']);
  expect(await change(api, deletion)).toMatchObject({ changed: 3, undo: null });
  expect(await statuses()).toEqual(['failed', 'canceled', 'canceled']);
  expect([await idsIn(api, listId), await countOf(api, listId)]).toEqual([[], 0]);
});

test('changes 1,000 leads, and refuses more by id and unclear requests', async () => {
  const { api, otherId } = await createWorld(0);
  const listId = await createList(api, 'Many');
  const ids = await createLeads(
    api,
    listId,
    Array.from({ length: 1001 }, () => ({ phone: phone() })),
  );
  expect(await change(api, { filter: { listId }, change: { addToListId: otherId } })).toMatchObject({
    changed: 1000,
    hasMore: true,
  });
  expect(await change(api, { filter: { listId: otherId }, change: { delete: true } })).toMatchObject({
    changed: 1000,
    hasMore: false,
  });
  for (const body of [
    { leadIds: ids, change: { delete: true } },
    { leadIds: ids.slice(0, 1), change: {} },
    { leadIds: ids.slice(0, 1), change: { delete: true, optOut: true } },
    { leadIds: ids.slice(0, 1), filter: {}, change: { delete: true } },
    { change: { delete: true } },
  ])
    expect((await api('POST', '/api/leads/bulk', body)).status).toBe(400);
});
