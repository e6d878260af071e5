import type pg from 'pg';
import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { problemsOf } from '#test/support/catalog.ts';
import { createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { runRetention } from '#test/support/workflows.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const run = (query: ReturnType<typeof sql.fragment>) =>
  systemDb(app.pools).query(sql.type(z.unknown())`${query}`);
const ids = (table: string, workspaceId: string, key = 'id') =>
  systemDb(app.pools).anyFirst(sql.type(z.object({ id: z.string() }))`
    select ${sql.identifier([key])} id from ${sql.identifier([table])} where workspace_id = ${workspaceId} order by 1`);
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

/** The partitioned tables, each with an example row. */
const DAILY = [
  { table: 'events', key: 'id', row: (id: string) => ({ id, event: 'message.sent', body: '{}' }) },
  {
    table: 'webhook_deliveries',
    key: 'id',
    row: (id: string) => ({ id, webhook_id: newId(), event_id: id, event: 'message.sent' }),
  },
  {
    table: 'request_log',
    key: 'id',
    row: (id: string, at: Date) => ({
      id,
      at,
      method: 'GET',
      path: '/api/messages',
      status: 200,
      request_id: id,
      actor_type: 'key',
      duration_ms: 1,
    }),
  },
  {
    table: 'carrier_events',
    key: 'event_id',
    row: (id: string, at: Date) => ({
      line_id: newId(),
      event_id: id,
      received_at: at,
      received_on: at.toISOString().slice(0, 10),
    }),
  },
];

describe('retention', () => {
  it('records how large the workspaces are', async () => {
    const [large, small, newer] = [
      await createWorkspace(app),
      await createWorkspace(app),
      await createWorkspace(app),
    ];
    await connected(app.ownerUrl, async (owner) => {
      const insert = (workspaceId: string, from: number, to: number) =>
        owner.query(
          `insert into conversations (workspace_id, address) select $1, '+1' || (2000000000 + n) from generate_series($2::int, $3::int) n`,
          [workspaceId, from, to],
        );
      const estimated = async (workspaceId: string): Promise<number> => {
        const { rows } = await owner.query(
          `explain (format json) select from conversations where workspace_id = '${workspaceId}'`,
        );
        return rows[0]['QUERY PLAN'][0].Plan['Plan Rows'];
      };
      await insert(large.id, 1, 500);
      // Of a table that was not analyzed yet, PostgreSQL guesses the rows.
      expect(await estimated(newer.id)).toBeGreaterThan(100);
      await insert(large.id, 501, 4000);
      await insert(small.id, 1, 1000);
      await owner.query('analyze conversations');
      await runRetention(app);
      expect(await estimated(large.id)).toBeGreaterThan(3000);
      expect(await estimated(large.id)).toBeLessThan(4100);
      // Those that have few are taken to have a thousand, like those that are not known.
      for (const few of [small, newer]) {
        expect(await estimated(few.id)).toBeGreaterThan(800);
        expect(await estimated(few.id)).toBeLessThan(1200);
      }
    });
  });

  it('deletes all expired rows except those that are still needed', async () => {
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
    const [open, ofWaiting] = [newId(inDays(-401)), newId(inDays(-401))];
    await attempt(open, left, inDays(-401), null);
    await attempt(ofWaiting, waiting, inDays(-401), 'transient');
    await attempt(young, left, inDays(-399), 'accepted');
    // More rows than one statement deletes.
    await run(sql.fragment`
      insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by, outcome)
      select ${workspaceId}, lpad(to_hex(n), 24, '0'), ${left}, ${newId()}, 'primary', 'imessage', 'simulated', '+14155550100', false,
        now() - interval '401 days', now() - interval '401 days', 'accepted' from generate_series(1, 12000) n returning null`);
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
    await runRetention(app);
    expect(await ids('audit_log', workspaceId)).toEqual([keptEntry]);
    expect(await ids('attempts', workspaceId)).toEqual([open, ofWaiting, young].toSorted());
  });

  it('skips locked rows and deletes them the next time', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    const used = newId();
    for (const id of [used, newId()])
      await insertRow(app, 'unreadable_inbound', {
        workspace_id: workspaceId,
        line_id: newId(),
        reference: id,
        reason: 'none',
        created_at: inDays(-31),
      });
    await connected(app.ownerUrl, async (other) => {
      await other.query(`begin; set local app.migrating = 'on'`);
      await other.query(
        'select 1 from unreadable_inbound where workspace_id = $1 and reference = $2 for update',
        [workspaceId, used],
      );
      await runRetention(app);
      expect(await ids('unreadable_inbound', workspaceId, 'reference')).toEqual([used]);
      await other.query('rollback');
    });
    await runRetention(app);
    expect(await ids('unreadable_inbound', workspaceId, 'reference')).toEqual([]);
  });

  it('deletes rows of other tables while a partitioned table is in use', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    await insertRow(app, 'unreadable_inbound', {
      workspace_id: workspaceId,
      line_id: newId(),
      reference: newId(),
      reason: 'none',
      created_at: inDays(-31),
    });
    const last = () =>
      systemDb(app.pools).one(sql.type(z.object({ name: z.string(), before: z.string() }))`
        select * from partitions_of('events') where before is not null order by before desc limit 1`);
    const made = await last();
    await connected(app.ownerUrl, async (other) => {
      await other.query(`drop table ${made.name}`);
      await other.query('begin; select from events');
      await expect(runRetention(app)).rejects.toThrow('Workflow execution failed');
      expect(await ids('unreadable_inbound', workspaceId, 'reference')).toEqual([]);
      await other.query('rollback');
    });
    await runRetention(app);
    expect(await last()).toEqual(made);
  });

  it.each(DAILY)('drops a partition of $table once all of it has expired', async (daily) => {
    const { table, key, row } = daily;
    const { id: workspaceId } = await createWorkspace(app);
    await run(sql.fragment`select keep_partitions(${table}, 12, 30)`);
    const rows = [inDays(0), inDays(10), inDays(60)].map((at) => ({ id: newId(at), at }));
    for (const { id, at } of rows) await insertRow(app, table, { workspace_id: workspaceId, ...row(id, at) });
    const [today, later, beyond] = rows.map(({ id }) => id);
    await runRetention(app);
    expect(await ids(table, workspaceId, key)).toEqual([today, later, beyond]);
    // As in 39 days: a retention of 30 days then begins on the ninth day from now.
    await run(sql.fragment`select keep_partitions(${table}, 12, -9)`);
    expect(await ids(table, workspaceId, key)).toEqual([later, beyond]);
  });

  it('creates the partitions of the next days, accessible only through their table', async () => {
    for (const { table } of DAILY) await run(sql.fragment`select keep_partitions(${table}, 20, 30)`);
    await connected(app.ownerUrl, async (owner) => {
      for (const { table } of DAILY) {
        const { rows } = await owner.query(
          `select max(before) > day_bound($1, now() + interval '20 days') as made from partitions_of($1)`,
          [table],
        );
        expect(rows).toEqual([{ made: true }]);
      }
      expect(await problemsOf(owner)).toEqual([]);
    });
  });

  it('is not required for inserts, which succeed without a partition for their day', async () => {
    await connected(app.ownerUrl, async (owner) => {
      for (const { table } of DAILY) {
        const { rows } = await owner.query<{ name: string }>(
          `select name from partitions_of($1) where name <> $1 || '_rest'`,
          [table],
        );
        for (const { name } of rows) await owner.query(`drop table ${name}`);
      }
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
    // Creates partitions around the day that already has rows.
    await runRetention(app);
    await send(2);
    for (const { table, key } of DAILY)
      await eventually(async () => (await ids(table, workspace.id, key)).length >= 2);
    await receiver.close();
  });
});

describe('a carrier event', () => {
  const insert = `insert into carrier_events (workspace_id, line_id, event_id, received_on) values ($1, $2, $3, $4) on conflict do nothing`;
  const day = (days: number) => inDays(days).toISOString().slice(0, 10);

  it('is stored once even if it is repeated simultaneously after midnight', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    const values = (days: number) => [workspaceId, newLine, 'event', day(days)];
    const newLine = newId();
    await connected(app.ownerUrl, (first) =>
      connected(app.ownerUrl, async (second) => {
        for (const client of [first, second]) await client.query(`begin; set local app.migrating = 'on'`);
        expect((await first.query(insert, values(-1))).rowCount).toBe(1);
        const repeated = second.query(insert, values(0));
        await eventually(async () => isBlocked(first));
        await first.query('commit');
        expect((await repeated).rowCount).toBe(0);
        await second.query('commit');
      }),
    );
    expect(await ids('carrier_events', workspaceId, 'event_id')).toEqual(['event']);
  });

  /** Whether another session is blocked by this one. */
  const isBlocked = async (client: pg.Client): Promise<boolean> =>
    (await client.query('select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))'))
      .rowCount === 1;
});
