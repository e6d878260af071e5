import { sql } from 'slonik';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CountRow } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { eventually, sharedApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { PNG, uploaded } from '#test/support/files.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';

const DAY_MS = 86_400_000;
const CONTACT = '+14155550107';
const app = await sharedApp();

const TableRow = z.object({ name: z.string() });

/** How many rows of a workspace each table has, but for what records requests and workflows, which goes on by itself. */
async function rowsOf(workspaceId: string): Promise<Record<string, number>> {
  const db = systemDb(app.pools);
  const tables = await db.anyFirst(sql.type(TableRow)`
    select c.relname::text name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname not in ('request_log', 'workflow_wakes', 'analytics_progress', 'event_streams')`);
  expect(tables.length).toBeGreaterThan(60);
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const count = await db.oneFirst(sql.type(CountRow)`
      select count(*)::int count from ${sql.identifier([table])} where workspace_id = ${workspaceId}`);
    if (count > 0) counts[table] = count;
  }
  return counts;
}

test('a reset leaves a workspace in test mode as it was when it was created, and the live one as it is', async () => {
  const live = await createWorkspace(app);
  const { api, id, key } = await openTestMode(app, live);
  const fresh = await rowsOf(id);
  const lineIds = async (): Promise<string[]> =>
    (await api('GET', '/api/lines/by-user')).body.lines.map(({ _id }: { _id: string }) => _id);
  const before = await lineIds();

  await live.api('POST', '/api/lists', { name: 'Customers' });
  const ofLive = await rowsOf(live.id);
  await registerWebhook(api, (await startTestEndpoint()).url);
  const file = await uploaded(app, key, { name: 'plan.png', type: 'image/png', content: PNG });
  await api('POST', '/api/messages', { recipientPhone: CONTACT, message: 'Hello', attachmentUrls: [file] });
  await eventually(async () => (await api('GET', '/api/test/sent')).body.sent.length === 1);
  await api('POST', '/api/test/inbound', { from: CONTACT, text: 'Tell me more' });
  await api('POST', '/api/test/inbound', { from: CONTACT, text: 'STOP' });
  await api('POST', '/api/lists', { name: 'Prospects' });
  await api('PUT', '/api/workspace/quiet-hours', { enabled: true });
  expect((await fetch(file)).status).toBe(200);

  const { status, body } = await api('POST', '/api/test/reset', {});
  expect(status).toBe(200);
  expect(Math.abs(Date.parse(body.now) - Date.now())).toBeLessThan(60_000);
  expect(await rowsOf(id)).toEqual(fresh);
  expect(await rowsOf(live.id)).toEqual(ofLive);
  expect((await fetch(file)).status).toBe(404);
  expect((await api('GET', '/api/workspace/quiet-hours')).body.quietHours.enabled).toBe(false);
  const after = await lineIds();
  expect(after).toHaveLength(before.length);
  expect(after.filter((lineId) => before.includes(lineId))).toEqual([]);
  // It works as before, with the same key and id.
  expect((await api('GET', '/api/workspace')).body.workspace._id).toBe(id);
  await api('POST', '/api/messages', { recipientPhone: CONTACT, message: 'Hello again' });
  await eventually(async () => (await api('GET', '/api/test/sent')).body.sent.length === 1);
});

test('a clock that starts in the past ends now, and what it plays is the past', async () => {
  const { api } = await openTestMode(app, await createWorkspace(app));
  const startsAt = new Date(Date.now() - 10 * DAY_MS);
  const { body } = await api('POST', '/api/test/reset', { startsAt });
  expect(Math.abs(Date.parse(body.now) - startsAt.getTime())).toBeLessThan(60_000);
  const { body: message } = await api('POST', '/api/messages', { recipientPhone: CONTACT, message: 'Hello' });
  expect(Math.abs(Date.parse(message.createdAt) - startsAt.getTime())).toBeLessThan(60_000);
  await advanceClock(api, 5 * 86_400);
  await api('POST', '/api/test/inbound', { from: CONTACT, text: 'Tell me more' });
  await advanceClock(api, 5 * 86_400);
  const sent = (await api('GET', `/api/messages/${message._id}`)).body;
  expect(Date.parse(sent.sentAt) - startsAt.getTime()).toBeLessThan(DAY_MS);
  const dayOf = (at: Date): string => at.toISOString().slice(0, 10);
  const { series } = (
    await api(
      'GET',
      `/api/analytics/timeseries?interval=day&dateFrom=${dayOf(startsAt)}&dateTo=${dayOf(new Date())}`,
    )
  ).body;
  expect(series.map((point: { sent: number }) => point.sent).reduce((a: number, b: number) => a + b)).toBe(1);
  expect(series.at(-1)).toMatchObject({ sent: 0, uniqueReplied: 0 });
  const { conversations } = (await api('GET', '/api/conversations')).body;
  expect(Date.now() - Date.parse(conversations[0].lastAt)).toBeGreaterThan(4 * DAY_MS);
});

test('only who manages the workspace resets it, in test mode, to a time of the last 90 days', async () => {
  const live = await createWorkspace(app);
  const { api, admin, id } = await openTestMode(app, live);
  expect((await live.api('POST', '/api/test/reset', {})).body.code).toBe('TEST_MODE_ONLY');
  for (const days of [-1, 91]) {
    const startsAt = new Date(Date.now() - days * DAY_MS);
    const { status, body } = await api('POST', '/api/test/reset', { startsAt });
    expect([status, body.issues[0].path]).toEqual([400, 'startsAt']);
  }
  const { body: restricted } = await admin('POST', '/api/keys', {
    name: 'Send',
    mode: 'test',
    scopes: ['send'],
  });
  const sends = apiClient(app.url, restricted.key);
  expect((await sends('POST', '/api/test/reset', {})).body.code).toBe('INSUFFICIENT_SCOPE');
  const member = await sessionClient(app, {
    userId: live.ownerId,
    organizationId: live.id,
    role: 'org:member',
  });
  const refused = await member('POST', '/api/test/reset', {}, { 'x-workspace-id': id });
  expect(refused.status).toBe(403);
});

test('a text that reports a reaction is no reply', async () => {
  const { api } = await openTestMode(app, await createWorkspace(app));
  const { body: message } = await api('POST', '/api/messages', {
    recipientPhone: CONTACT,
    message: 'See you at 8',
  });
  await eventually(async () => (await api('GET', '/api/test/sent')).body.sent.length === 1);
  const reaction = await api('POST', '/api/test/inbound', { from: CONTACT, text: 'Loved “See you at 8”' });
  expect(reaction.status).toBe(200);
  expect((await api('GET', '/api/replies')).body.replies).toEqual([]);
  expect((await api('GET', `/api/messages/${message._id}`)).body.reactions).toMatchObject([
    { reaction: 'love' },
  ]);
});
