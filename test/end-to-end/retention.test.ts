import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '#db/migrate.ts';
import { systemDb } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { connected, createTestDatabase } from '#test/setup/database.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const run = (query: ReturnType<typeof sql.fragment>) =>
  systemDb(app.pools).query(sql.type(z.unknown())`${query}`);
const ids = (table: string, workspaceId: string) =>
  systemDb(app.pools).anyFirst(sql.type(z.object({ id: z.string() }))`
    select id from ${sql.identifier([table])} where workspace_id = ${workspaceId} order by id`);
const retention = () =>
  app.temporal.workflow.execute('retention', { taskQueue: MAIN_QUEUE, workflowId: `retention-${newId()}` });
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

describe('retention', () => {
  it('goes on until nothing is left that has aged, and keeps what is still needed', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    const [waiting, left, young] = [newId(), newId(), newId()];
    const message = (id: string, status: string) =>
      insertRow(app, 'messages', {
        workspace_id: workspaceId,
        id,
        channel: 'imessage',
        status,
        address: '+14155550100',
        scheduled_at: inDays(1),
        source: 'api',
      });
    await message(waiting, 'scheduled');
    await message(left, 'sent');
    const attempt = (id: string, messageId: string, at: Date, outcome: string | null) =>
      insertRow(app, 'attempts', {
        workspace_id: workspaceId,
        id,
        message_id: messageId,
        line_id: newId(),
        kind: 'primary',
        channel: 'imessage',
        carrier: 'simulated',
        address: '+14155550100',
        is_new: false,
        started_at: at,
        answer_by: at,
        outcome,
      });
    const [open, ofWaiting] = [newId(), newId()];
    await attempt(open, left, inDays(-401), null);
    await attempt(ofWaiting, waiting, inDays(-401), 'transient');
    await attempt(young, left, inDays(-399), 'accepted');
    // More of each than one statement deletes.
    await run(sql.fragment`
      insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by, outcome)
      select ${workspaceId}, lpad(to_hex(n), 24, '0'), ${left}, ${newId()}, 'primary', 'imessage', 'simulated', '+14155550100', false,
        now() - interval '401 days', now() - interval '401 days', 'accepted' from generate_series(1, 12000) n`);
    await run(sql.fragment`
      insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event, status, created_at)
      select ${workspaceId}, lpad(to_hex(n), 24, '0'), ${newId()}, ${newId()}, 'message.sent', 'done', now() - interval '31 days'
      from generate_series(1, 12000) n`);
    const entry = (id: string, at: Date) =>
      insertRow(app, 'audit_log', {
        workspace_id: workspaceId,
        id,
        at,
        channel: 'session',
        actor_type: 'user',
        action: 'key.created',
        target_type: 'key',
        target_id: newId(),
      });
    const keptEntry = newId();
    await entry(newId(), inDays(-401));
    await entry(keptEntry, inDays(-399));
    await retention();
    expect(await ids('audit_log', workspaceId)).toEqual([keptEntry]);
    expect(await ids('attempts', workspaceId)).toEqual([open, ofWaiting, young].toSorted());
    expect(await ids('webhook_deliveries', workspaceId)).toEqual([]);
  });

  it('drops a day of events as a whole, when all of it is past its time', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    const [today, later, beyond] = [newId(), newId(inDays(5)), newId(inDays(60))];
    for (const id of [today, later, beyond])
      await insertRow(app, 'events', { workspace_id: workspaceId, id, event: 'message.sent', body: '{}' });
    await retention();
    expect(await ids('events', workspaceId)).toEqual([today, later, beyond]);
    // As it will be in 34 days: what is kept for 30 is then of the fourth day from now and later.
    await run(sql.fragment`select keep_event_partitions(7, -4)`);
    expect(await ids('events', workspaceId)).toEqual([later, beyond]);
  });

  it('lets nothing fail while no partition is made', async () => {
    await connected(app.ownerUrl, async (owner) => {
      const { rows } = await owner.query<{ name: string }>(
        `select inhrelid::regclass::text name from pg_inherits where inhparent = 'events'::regclass and inhrelid <> 'events_rest'::regclass`,
      );
      for (const { name } of rows) await owner.query(`drop table ${name}`);
    });
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id);
    const api = apiClient(app.url, workspace.key);
    const receiver = await startEndpoint();
    await api('POST', '/api/webhooks', { name: 'w', url: receiver.url, events: ['message.sent'] });
    const send = async (count: number) => {
      await api('POST', '/api/messages', { recipientPhone: phone(), message: 'Hello' });
      await eventually(async () => receiver.received.length === count);
    };
    await send(1);
    // Made again around the day that has events already.
    await retention();
    await send(2);
    expect(await ids('events', workspace.id)).toHaveLength(2);
    await receiver.close();
  });
});

describe('an installation from before events were partitioned', () => {
  it('keeps every event, and the new ones beside them', async () => {
    const database = await createTestDatabase('template1');
    const folder = new URL('../../db/migrations/', import.meta.url);
    await connected(database.ownerUrl, async (owner) => {
      await owner.query(
        'create table migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
      );
      await owner.query(`set app.migrating = 'on'`);
      for (const name of (await readdir(folder)).filter((file) => file < '0252').toSorted()) {
        const text = await readFile(new URL(name, folder), 'utf8');
        await owner.query(text);
        const checksum = createHash('sha256').update(text).digest('hex');
        await owner.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum]);
      }
      await owner.query(`insert into workspaces (id, name) values ('org_1', 'One')`);
      await owner.query(
        `insert into events (workspace_id, id, event, body, created_at)
         select 'org_1', lpad(to_hex(extract(epoch from made_at)::bigint), 8, '0') || lpad(to_hex(n), 16, '0'), 'message.sent', n::text, made_at
         from generate_series(1, 5000) n, lateral (select now() - n * interval '10 minutes' as made_at) t`,
      );
      const told = 'select id, event, body, created_at from events order by id';
      const before = (await owner.query(told)).rows;
      await migrate(database.ownerUrl, database, { log: () => {} });
      expect((await owner.query(told)).rows).toEqual(before);
      await owner.query(
        `insert into events (workspace_id, id, event, body) values ('org_1', $1, 'message.sent', ''), ('org_1', $2, 'message.sent', '')`,
        [newId(), newId(inDays(4))],
      );
      const { rows } = await owner.query(
        'select tableoid::regclass::text "table", count(*)::int count from events group by 1 order by 2',
      );
      expect(rows).toEqual([
        { table: expect.stringMatching(/^events_\d{8}$/), count: 1 },
        { table: 'events_before', count: 5001 },
      ]);
    });
    await database.drop();
  });
});
