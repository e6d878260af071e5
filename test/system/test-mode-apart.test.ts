import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startApi } from '#api/server.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { mailsTo } from '#test/support/mails.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';
import { charged } from '#test/support/payments.ts';
import { startWorker } from '#workers/worker.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const TableRow = z.object({ name: z.string() });
const RecordedRow = z.object({ recorded: z.boolean() });
const DigestRow = z.object({ digest: z.string().nullable(), rows: z.int() });

/** The rows of a workspace in every table of tenants, as a digest by table, and those of all agencies. */
async function rowsOf(workspaceId: string): Promise<Record<string, { digest: string | null; rows: number }>> {
  const db = systemDb(app.pools);
  const tables = await db.anyFirst(sql.type(TableRow)`
    select c.table_name::text name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name = 'workspace_id'
      -- The parents show the rows of partitions.
      and not exists (select from pg_inherits i where i.inhrelid = to_regclass(c.table_name::text))
    order by 1`);
  expect(tables.length).toBeGreaterThan(40);
  const digests: Record<string, { digest: string | null; rows: number }> = {};
  for (const name of tables) {
    // When the workflows of the live workspace look again is up to them.
    const content = name === 'workflow_wakes' ? sql.fragment`t.workflow_id` : sql.fragment`t::text`;
    digests[name] = await db.one(sql.type(DigestRow)`
      select md5(string_agg(${content}, ' ' order by ${content})) digest, count(*)::int "rows"
      from ${sql.identifier([name])} t where workspace_id = ${workspaceId}`);
  }
  digests['workspaces'] = await db.one(sql.type(DigestRow)`
    select md5(string_agg(t::text, ' ' order by t::text)) digest, count(*)::int "rows" from workspaces t where id = ${workspaceId}`);
  return digests;
}

test('nothing in test mode changes the live workspace, or reaches a carrier, a card or a mailbox', async () => {
  const live = await createWorkspaceWithLine(app);
  const liveEndpoint = await startTestEndpoint();
  await registerWebhook(live.api, liveEndpoint.url, { events: ['message.sent', 'message.reply'] });
  const contact = phone();
  const first = await live.api('POST', '/api/messages', { recipientPhone: contact, message: 'Live' });
  await eventually(
    async () => (await live.api('GET', `/api/messages/${first.body._id}`)).body.status === 'delivered',
  );
  await eventually(async () => liveEndpoint.received.length === 1);
  const { api, id } = await openTestMode(app, live);
  await api('GET', '/api/workspace');
  // Publishes the events.
  await live.api('GET', '/api/events/stream');
  // The last request and the use of the keys are recorded after the responses.
  await eventually(() =>
    systemDb(app.pools).oneFirst(sql.type(RecordedRow)`
      select exists (select from request_log where workspace_id = ${live.id} and path = '/api/events/stream')
        and not exists (select from workspace_keys where workspace_id = ${live.id} and last_used_at is null) recorded`),
  );
  // Until the workflows of the live workspace rest.
  let before = await rowsOf(live.id);
  await eventually(async () => {
    const earlier = before;
    before = await rowsOf(live.id);
    return JSON.stringify(earlier) === JSON.stringify(before);
  });

  const endpoint = await startTestEndpoint();
  await registerWebhook(api, endpoint.url, { events: ['message.sent', 'message.reply', 'message.fallback'] });
  await api('POST', '/api/email-preferences', { preferences: { reply: { enabled: true } } });
  const { body: list } = await api('POST', '/api/lists', { name: 'Prospects' });
  const leads = [
    { firstName: 'Ada', phone: contact, email: 'ada@example.test', contactOwnerEmail: 'owner@example.test' },
    { firstName: 'Bea', phone: phone('0001') },
  ];
  await api('POST', '/api/leads', { listId: list.list._id, leads });
  const campaign = await api('POST', '/api/campaigns', {
    name: 'Test',
    listId: list.list._id,
    steps: [
      { message: 'One', delay: {}, smsFallbackEnabled: true },
      { message: 'Two', delay: { days: 1 } },
    ],
    start: true,
  });
  expect(campaign.status).toBe(201);
  await api('POST', '/api/messages', {
    recipientEmail: 'ada@example.test',
    messageType: 'email',
    message: 'Hi',
  });
  await api('POST', '/api/drip', { recipientPhone: contact, message: 'Drip' });
  await api('POST', '/api/opt-outs', { address: phone() });
  const requested = await api('POST', '/api/line-requests', { firstName: 'Ada', lastName: 'Byron' });
  expect(requested.body.paymentRequired).toBe(false);
  await advanceClock(api, 3 * 86_400);
  await api('POST', '/api/test/inbound', { from: contact, text: 'Hello' });
  await advanceClock(api, 3600);

  const { sent } = (await api('GET', '/api/test/sent')).body;
  expect(sent.map(({ text }: { text: string }) => text)).toEqual(
    expect.arrayContaining(['One', 'Two', 'Hi', 'Drip']),
  );
  const events = endpoint.received.map(({ json }) => json);
  expect(new Set(events.map(({ workspaceId }) => workspaceId))).toEqual(new Set([id]));
  expect(events.map(({ event }) => event)).toContain('message.reply');

  expect(await rowsOf(live.id)).toEqual(before);
  expect(liveEndpoint.received).toHaveLength(1);
  expect((await sentTo(app, contact)).map(({ text }) => text)).toEqual(['Live']);
  for (const { phone: to } of leads.slice(1)) expect(await sentTo(app, to)).toEqual([]);
  for (const address of ['ada@example.test', 'owner@example.test', `${live.ownerId}@example.test`])
    expect(await mailsTo(app, address)).toEqual([]);
  const { invoices, customers, subscriptions } = await charged(app, id);
  expect([invoices, customers, subscriptions]).toEqual([[], [], []]);
});

test('messages in test mode need no simulator, as in production', async () => {
  const { simulator: _, ...rest } = app.config;

  const config = { ...rest, simulator: null, port: 0 };
  await app.stopWorker();
  const api = await startApi(config);
  const worker = await startWorker(config, { codePath: inject('workflowBundle') });
  try {
    const live = await createWorkspaceWithLine({ ...app, url: api.url });
    const { api: tests } = await openTestMode({ ...app, url: api.url }, live);
    const to = phone();
    await tests('POST', '/api/messages', { recipientPhone: to, message: 'Hi' });
    await eventually(async () => (await tests('GET', '/api/test/sent')).body.sent.length === 1);
    expect(await sentTo(app, to)).toEqual([]);
  } finally {
    await worker.stop();
    await api.stop();
    await app.startWorker();
  }
});
