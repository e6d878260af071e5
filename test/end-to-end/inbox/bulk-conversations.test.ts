import { sql } from 'slonik';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient, type ApiClient } from '#test/support/client.ts';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import {
  createKey,
  createLead,
  createWorkspaceWithLine,
  insertRow,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { lock } from '#test/support/locks.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp();
});

interface Team extends WorkspaceWithLine {
  owner: ApiClient;
}

async function createTeam(): Promise<Team> {
  const workspace = await createWorkspaceWithLine(app);
  const { id: organizationId, ownerId: userId } = workspace;
  return { ...workspace, owner: await sessionClient(app, { userId, organizationId, role: 'org:admin' }) };
}

async function writtenBy({ lineId }: WorkspaceWithLine, text = 'Hello'): Promise<string> {
  const from = phone();
  await callBack(app, lineId, replyEvent(from, text, { at: new Date() }));
  return from;
}

async function written(team: WorkspaceWithLine, count: number): Promise<string[]> {
  const addresses: string[] = [];
  for (let at = 0; at < count; at += 1) addresses.push(await writtenBy(team));
  return addresses.toSorted();
}

/** Conversations without messages of their own, of which there can be many. */
async function planted({ id }: WorkspaceWithLine, count: number): Promise<string[]> {
  const addresses = Array.from({ length: count }, () => phone());
  for (const address of addresses)
    await insertRow(app, 'conversations', { workspace_id: id, address, last_inbound_at: new Date() });
  return addresses.toSorted();
}

async function change(api: ApiClient, body: Record<string, unknown>) {
  const { status, body: result } = await api('POST', '/api/conversations/bulk', body);
  expect(status, JSON.stringify(result)).toBe(200);
  return result;
}

const statesOf = async (api: ApiClient, addresses: readonly string[]) =>
  Promise.all(
    addresses.map(
      async (address) =>
        (await api('GET', `/api/conversations/${encodeURIComponent(address)}`)).body.conversation,
    ),
  );
const each = (state: Record<string, unknown>, { length }: readonly string[]) =>
  Array.from({ length }, () => expect.objectContaining(state));

test('closes and assigns many conversations with the events and audit entries of single changes, and undoes that', async () => {
  const team = await createTeam();
  const addresses = await written(team, 3);
  const endpoint = await startTestEndpoint();
  const events = ['conversation.assigned', 'conversation.status_changed'];
  expect((await team.api('POST', '/api/webhooks', { url: endpoint.url, events })).status).toBe(201);
  const stranger = phone();

  const asked = {
    addresses: [...addresses, stranger],
    change: { status: 'closed', assigneeId: team.ownerId },
  };
  const planned = await change(team.owner, { ...asked, dryRun: true });
  const expected = {
    matched: 4,
    changed: 3,
    skipped: [{ item: stranger, reason: 'not_found' }],
    hasMore: false,
  };
  expect(planned).toMatchObject({ ...expected, dryRun: true, undo: null });
  expect(await statesOf(team.owner, addresses)).toEqual(
    each({ status: 'open', assigneeId: null }, addresses),
  );

  const { undo, ...result } = await change(team.owner, asked);
  expect(result).toMatchObject({ ...expected, dryRun: false });
  expect(await statesOf(team.owner, addresses)).toEqual(
    each({ status: 'closed', assigneeId: team.ownerId }, addresses),
  );
  expect(await change(team.owner, asked)).toMatchObject({
    changed: 0,
    skipped: expect.arrayContaining([{ item: addresses[0], reason: 'unchanged' }]),
    undo: null,
  });

  expect((await team.owner('PATCH', `/api/conversations/${addresses[0]}`, { status: 'open' })).status).toBe(
    200,
  );
  expect((await team.api('POST', `/api/conversations/bulk/${undo.id}/undo`)).status).toBe(404);
  const undos = await Promise.all(
    Array.from({ length: 5 }, () => team.owner('POST', `/api/conversations/bulk/${undo.id}/undo`)),
  );
  const undone = undos.find(({ status }) => status === 200);
  expect(undos.filter(({ status }) => status === 404)).toHaveLength(4);
  expect(undone).toMatchObject({
    status: 200,
    body: { changed: 2, skipped: [{ item: addresses[0], reason: 'changed_since' }], undo: null },
  });
  expect(await statesOf(team.owner, addresses)).toEqual([
    expect.objectContaining({ status: 'open', assigneeId: team.ownerId }),
    ...each({ status: 'open', assigneeId: null }, addresses.slice(1)),
  ]);
  expect((await team.owner('POST', `/api/conversations/bulk/${undo.id}/undo`)).status).toBe(404);

  // Two of each for the change, one more to open the first, two of each for the undo.
  const received = await eventually(async () => endpoint.received.length >= 11 && endpoint.received);
  expect(received.filter(({ json }) => json.event === 'conversation.assigned')).toHaveLength(5);
  expect(received.filter(({ json }) => json.event === 'conversation.status_changed')).toHaveLength(6);
  const { entries } = (await team.owner('GET', '/api/audit-log?action=conversation.updated')).body;
  expect(entries).toHaveLength(6);
  expect(entries.at(-1)).toMatchObject({
    actor: { type: 'user', id: team.ownerId },
    changes: { status: 'closed', assigneeId: team.ownerId },
  });
});

test('an undo gives no conversation back to a member who was removed meanwhile', async () => {
  const team = await createTeam();
  const userId = `user_${newId()}`;
  await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Mia Okafor' });
  await insertRow(app, 'workspace_members', { workspace_id: team.id, user_id: userId, role: 'org:member' });
  const [address = ''] = await planted(team, 1);
  await change(team.owner, { addresses: [address], change: { assigneeId: userId } });
  const { undo } = await change(team.owner, {
    addresses: [address],
    change: { assigneeId: team.ownerId },
  });
  expect((await team.owner('DELETE', `/api/team/${userId}`)).status).toBe(200);
  const undone = await team.owner('POST', `/api/conversations/bulk/${undo.id}/undo`);
  expect(undone.body).toMatchObject({ changed: 0, skipped: [{ item: address, reason: 'changed_since' }] });
  expect(await statesOf(team.owner, [address])).toMatchObject([{ assigneeId: team.ownerId }]);
});

test('snoozes, tags and marks as read what a filter finds, and restores it', async () => {
  const team = await createTeam();
  const addresses = await written(team, 2);
  const [first = ''] = addresses;
  const path = `/api/conversations/${encodeURIComponent(first)}`;
  expect((await team.owner('POST', `${path}/tags`, { tags: ['Old', 'vip'] })).status).toBe(200);
  const snoozedUntil = new Date(Date.now() + 3_600_000).toISOString();
  const { undo, ...result } = await change(team.owner, {
    filter: { status: 'open', unread: 'true' },
    change: { status: 'snoozed', snoozedUntil, addTags: ['VIP', 'fair'], removeTags: ['old'], read: true },
  });
  expect(result).toMatchObject({ matched: 2, changed: 2, skipped: [] });
  const snoozed = { status: 'snoozed', snoozedUntil, unread: false };
  expect(await statesOf(team.owner, addresses)).toEqual([
    expect.objectContaining({ ...snoozed, tags: ['vip', 'fair'] }),
    expect.objectContaining({ ...snoozed, tags: ['VIP', 'fair'] }),
  ]);
  expect((await team.owner('POST', `/api/conversations/bulk/${undo.id}/undo`)).body).toMatchObject({
    changed: 2,
  });
  const open = { status: 'open', snoozedUntil: null, unread: true };
  expect(await statesOf(team.owner, addresses)).toEqual([
    expect.objectContaining({ ...open, tags: ['Old', 'vip'] }),
    expect.objectContaining({ ...open, tags: [] }),
  ]);
});

test('refuses what single changes refuse, and a key to read', async () => {
  const team = await createTeam();
  const [address] = await written(team, 1);
  const refused = async (body: Record<string, unknown>, api = team.owner) => {
    const response = await api('POST', '/api/conversations/bulk', body);
    expect(response.status, JSON.stringify(response.body)).toBe(400);
    return response.body.details?.[0]?.path ?? response.body.issues?.[0]?.path;
  };
  const addresses = [address];
  await refused({ addresses, change: {} });
  await refused({ change: { status: 'closed' } });
  await refused({ addresses, filter: {}, change: { status: 'closed' } });
  await refused({ addresses, change: { status: 'snoozed' } });
  await refused({ addresses, change: { status: 'snoozed', snoozedUntil: '2020-01-01T00:00:00Z' } });
  await refused({ addresses, change: { assigneeId: `user_${newId()}` } });
  await refused({ addresses, change: { read: true } }, team.api);
  await refused({ filter: { assignee: 'me' }, change: { status: 'closed' } }, team.api);
  await refused({ addresses: Array.from({ length: 1001 }, () => address), change: { status: 'closed' } });
  const reader = apiClient(app.url, await createKey(app, 'workspace', team.id, { scopes: ['read'] }));
  expect(
    (await reader('POST', '/api/conversations/bulk', { addresses, change: { status: 'closed' } })).status,
  ).toBe(403);
});

test('changes the newest 1,000, says that there are more, and what a failed part left undone', async () => {
  const team = await createTeam();
  const addresses = await planted(team, 1001);
  const { undo, ...all } = await change(team.owner, { filter: {}, change: { status: 'closed' } });
  expect(all).toMatchObject({ matched: 1000, changed: 1000, hasMore: true });
  expect((await team.owner('POST', `/api/conversations/bulk/${undo.id}/undo`)).body).toMatchObject({
    changed: 1000,
  });

  // The 150th is locked for longer than a change waits.
  const locked = await lock(app, 'conversations', addresses[149] ?? '', 'address');
  const part = await change(team.owner, {
    addresses: addresses.slice(0, 300),
    change: { status: 'closed' },
  });
  await locked.release();
  expect(part).toMatchObject({ matched: 300, changed: 100 });
  expect(part.skipped).toEqual(addresses.slice(100, 300).map((item) => ({ item, reason: 'not_done' })));
  expect(await statesOf(team.owner, addresses.slice(98, 102))).toMatchObject(
    ['closed', 'closed', 'open', 'open'].map((status) => ({ status })),
  );
});

test('cannot be undone after a minute, and an undo that nobody can use is deleted with the contact', async () => {
  const team = await createTeam();
  const [address = ''] = await written(team, 1);
  const { undo } = await change(team.owner, { filter: {}, change: { status: 'closed' } });
  const leadId = await createLead(app, team.id, { phones: [address] });
  await systemDb(app.pools).query(sql.type(z.unknown())`
    update bulk_changes set undo_until = undo_until - interval '1 minute' where workspace_id = ${team.id}`);
  expect((await team.owner('POST', `/api/conversations/bulk/${undo.id}/undo`)).status).toBe(404);
  expect((await team.owner('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
  const left = await systemDb(app.pools).any(sql.type(z.unknown())`
    select from bulk_changes where workspace_id = ${team.id}`);
  expect(left).toHaveLength(0);
});
