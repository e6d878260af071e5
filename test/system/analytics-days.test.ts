import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { addChangesOfErased, countSome } from '#db/commands/analytics/count-days.ts';
import { countsOfDays } from '#db/queries/analytics/analytics-cells.ts';
import { countMessages } from '#db/queries/analytics/analytics.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, type TenantDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { type AnalyticsFilter, analyticsFilter, type Span } from '#domain/analytics/analytics.ts';
import { newId } from '#domain/base/ids.ts';
import { POSITIVE_TAGS } from '#domain/shared/positive-tags.ts';
import { connected } from '#db/connection/connected.ts';
import { eventually, sharedApp, startTestApp, type TestApp } from '#test/support/app.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: true });
});

const [LINE, CAMPAIGN] = [newId(), newId()];
const ZONE = 'America/New_York';

/** Messages at noon of each day of 2026-03, to as many contacts in turn. */
async function insertMessages(workspaceId: string, { count, contacts }: { count: number; contacts: number }) {
  await withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      insert into messages (workspace_id, id, channel, status, address, source, line_id, campaign_id, scheduled_at, created_at)
      select ${workspaceId}, lpad(to_hex(n), 24, '0'), 'imessage', 'sending', '+1415' || (5550000 + n % ${contacts}::int), 'api',
        ${LINE}, ${CAMPAIGN}, t, t
      from generate_series(1, ${count}::int) n, lateral (values (timestamptz '2026-03-01 12:00Z' + n % 31 * interval '1 day')) t (t) returning null`),
  );
}

const send = (workspaceId: string, first: number, last: number) =>
  withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      update messages set status = 'sent', sent_at = created_at
      where workspace_id = ${workspaceId} and id = any(array(
        select lpad(to_hex(n), 24, '0') from generate_series(${first}::int, ${last}::int) n))`),
  );

const moveTo = (workspaceId: string, timeZone: string) =>
  systemDb(app.pools).query(
    sql.type(NoRows)`update workspaces set timezone = ${timeZone} where id = ${workspaceId}`,
  );

/** Counts some, as soon as housekeeping does not. @returns whether there is more. */
async function count(workspaceId: string): Promise<boolean> {
  const counted = await eventually(async () => ({
    more: await withTenant(app.pools, workspaceId, countSome),
  }));
  return counted.more;
}
const countAll = async (workspaceId: string): Promise<void> => {
  while (await count(workspaceId));
};

const byDays = (workspaceId: string, timeZone = ZONE, filter: AnalyticsFilter = {}) =>
  withTenant(app.pools, workspaceId, (db) =>
    countsOfDays(
      db,
      {
        filter,
        spans: [spanOf('2026-03-01', '2026-03-10', timeZone), spanOf('2026-03-11', '2026-03-20', timeZone)],
      },
      timeZone,
    ),
  );

const spanOf = (dateFrom: string, dateTo: string, timeZone: string): Span => {
  const { from, to } = analyticsFilter({ dateFrom, dateTo }, timeZone);
  return { from, to };
};

const byMessages = (workspaceId: string, from: string, to: string) =>
  withTenant(app.pools, workspaceId, (db) =>
    // A line and a campaign together are counted from messages.
    countMessages(
      db,
      {
        from: new Date(`${from}T05:00:01Z`),
        to: new Date(`${to}T03:59:59Z`),
        lineId: LINE,
        campaignId: CAMPAIGN,
      },
      ZONE,
    ),
  );

const expected = async (workspaceId: string) => [
  await byMessages(workspaceId, '2026-03-01', '2026-03-11'),
  await byMessages(workspaceId, '2026-03-11', '2026-03-21'),
];

describe('metrics by the day', () => {
  it('count messages that are sent before, while and after they are counted for the first time', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    // It may be there from a first try.
    await systemDb(app.pools).query(sql.type(NoRows)`delete from lines where id = ${LINE}`);
    await systemDb(app.pools).query(
      sql.type(NoRows)`delete from lookups where kind = 'line' and key = ${LINE}`,
    );
    await createLine(app, id, 'imessage', { id: LINE });
    await insertMessages(id, { count: 45_000, contacts: 9000 });
    await send(id, 1, 15_000);
    // Contacts are counted in the order of their addresses, and these are of all of them.
    expect(await count(id)).toBe(true);
    await send(id, 15_001, 30_000);
    await countAll(id);
    await send(id, 30_001, 33_000);
    expect(await byDays(id)).toEqual(await expected(id));
    const replies = async (messages: number): Promise<void> => {
      await systemDb(app.pools).query(sql.type(NoRows)`
        insert into analytics_days as d (workspace_id, subject_id, day, metric, previous_day, contacts, messages)
        values (${id}, ${id}, '2026-03-05', 'replied', '-infinity', 0, ${messages})
        on conflict (workspace_id, subject_id, day, metric, previous_day) do update set messages = d.messages + excluded.messages`);
    };
    // Readers add no more changes than one for twenty messages, unless there are few.
    await connected(app.ownerUrl, async (owner) => {
      // Nobody counts them meanwhile.
      await owner.query(`begin; set local app.migrating = 'on'`);
      await owner.query(`select from analytics_progress where workspace_id = $1 for update`, [id]);
      await send(id, 33_001, 40_000);
      expect(await byDays(id)).toBeNull();
      await replies(200_000);
      const [first, second] = await expected(id);
      expect(await byDays(id)).toEqual([{ ...first, replied: 200_000 }, second]);
      await replies(-200_000);
      await owner.query('rollback');
    });
    await countAll(id);
    expect(await byDays(id)).toEqual(await expected(id));
    expect(await byDays(id, ZONE, { lineId: LINE })).toEqual(await expected(id));
    expect(await byDays(id, ZONE, { campaignId: LINE })).toBeNull();
  });

  it('are counted anew when the time zone changes, and are not used meanwhile', async () => {
    const { id } = await createWorkspace(app, { timezone: 'Asia/Tokyo' });
    await insertMessages(id, { count: 100, contacts: 10 });
    await send(id, 1, 100);
    await countAll(id);
    expect(await byDays(id, 'Asia/Tokyo')).not.toBeNull();
    expect(await byDays(id)).toBeNull();
    await moveTo(id, ZONE);
    await countAll(id);
    expect(await byDays(id, 'Asia/Tokyo')).toBeNull();
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('are not added to those of a time zone that is left and taken again', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    await insertMessages(id, { count: 100, contacts: 10 });
    await send(id, 1, 100);
    await countAll(id);
    // More than are dropped at once.
    await systemDb(app.pools).query(sql.type(NoRows)`
      insert into analytics_days (workspace_id, subject_id, day, metric, previous_day, contacts, messages)
      select ${id}, ${id}, '2026-03-05', 'sent', date '1000-01-01' + n, 1, 1 from generate_series(1, 60000) n returning null`);
    await moveTo(id, 'Asia/Tokyo');
    await count(id);
    await moveTo(id, ZONE);
    await countAll(id);
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('count a contact who is written to while the last ones are counted', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    await insertMessages(id, { count: 100, contacts: 10 });
    await send(id, 1, 95);
    const [found, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const writing = found.promise.then(async () => {
      await systemDb(app.pools).query(sql.type(NoRows)`
        update messages set address = '+19995550000' where workspace_id = ${id} and status = 'sending'`);
      await send(id, 96, 100);
      written.resolve();
    });
    await withTenant(app.pools, id, async (db) => {
      const anyFirst: TenantDb['anyFirst'] = async (query) => {
        const rows = await db.anyFirst(query);
        found.resolve();
        await written.promise;
        return rows;
      };
      await countSome(Object.assign(Object.create(db) as TenantDb, { anyFirst }));
    });
    await writing;
    await countAll(id);
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('do not keep the address of an erased contact, and lose nobody by that', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    await insertMessages(id, { count: 45_000, contacts: 9000 });
    await send(id, 1, 45_000);
    const countedTo = () =>
      systemDb(app.pools).oneFirst(sql.type(z.object({ countedTo: z.string() }))`
        select counted_to from analytics_progress where workspace_id = ${id}`);
    // Housekeeping may count all of them meanwhile.
    do {
      await systemDb(app.pools).query(sql.type(NoRows)`
        delete from analytics_progress where workspace_id = ${id} and is_complete`);
      await count(id);
    } while ((await countedTo()) === '');
    const erased = await countedTo();
    expect(erased).toMatch(/^\+1415/);
    await systemDb(app.pools).query(sql.type(NoRows)`
      update messages set address = 'erased:1' where workspace_id = ${id} and address = ${erased}`);
    while (await withTenant(app.pools, id, (db) => addChangesOfErased(db, [erased])));
    expect(await countedTo()).not.toBe(erased);
    await countAll(id);
    expect(await countedTo()).toBe('');
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('lose nothing when messages are sent while others are counted', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    await insertMessages(id, { count: 3000, contacts: 400 });
    const sending = (async () => {
      for (let from = 1; from <= 3000; from += 100) await send(id, from, from + 99);
    })();
    const sent = new AbortController();
    void sending.finally(() => sent.abort());
    const counting = [1, 2].map(async () => {
      while (!sent.signal.aborted) await count(id);
    });
    await Promise.all([sending, ...counting]);
    expect(await byDays(id)).toEqual(await expected(id));
    await countAll(id);
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('are brought up to date by housekeeping', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    await insertMessages(id, { count: 10, contacts: 5 });
    await send(id, 1, 10);
    // It cannot be counted.
    const other = await createWorkspace(app, { timezone: 'Nowhere/Land' });
    const handle = await app.temporal.workflow.start('housekeeping', {
      args: [{ runMs: 600_000 }],
      taskQueue: MAIN_QUEUE,
      workflowId: `housekeeping-${id}`,
    });
    const left = () =>
      systemDb(app.pools).anyFirst(sql.type(z.object({ n: z.int() }))`
        select 1 n from analytics_changes where workspace_id = ${id}`);
    await eventually(async () => (await left()).length === 0);
    await handle.terminate();
    await moveTo(other.id, 'UTC');
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('are brought up to date within seconds while a workspace is busy', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    await insertMessages(id, { count: 1200, contacts: 600 });
    await countAll(id);
    await send(id, 1, 1200);
    await eventually(async () => {
      const waiting = await systemDb(app.pools).anyFirst(sql.type(z.object({ n: z.int() }))`
        select 1 n from analytics_changes where workspace_id = ${id}`);
      return waiting.length < 500;
    });
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('are noted by index, also by a connection whose plans are of an empty database', async () => {
    const own = await startTestApp({ worker: false });
    try {
      const { id } = await createWorkspace(own);
      await connected(own.ownerUrl, async (owner) => {
        await owner.query(`set app.migrating = 'on'`);
        const insert = async (first: number, last: number) => {
          await owner.query(
            `insert into messages (workspace_id, id, channel, status, address, source, line_id, scheduled_at)
            select $1, lpad(to_hex(n), 24, '0'), 'imessage', 'delivered', '+1415' || n, 'api', $2, now() from generate_series($3::int, $4::int) n returning null`,
            [id, LINE, first, last],
          );
        };
        const reply = async (first: number, last: number) => {
          await owner.query(
            `insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, original_message_id, received_at)
            select $1, lpad(to_hex(n), 24, '0'), $2, '+1415' || n, n::text, lpad(to_hex(n), 24, '0'), now() from generate_series($3::int, $4::int) n returning null`,
            [id, LINE, first, last],
          );
        };
        await insert(1, 10);
        await owner.query('vacuum analyze messages');
        await reply(1, 10);
        await insert(11, 10_000);
        await owner.query('begin');
        await reply(11, 1000);
        const { rows } = await owner.query<{ read: string }>(
          `select seq_tup_read read from pg_stat_xact_user_tables where relname = 'messages'`,
        );
        expect(Number(rows[0]?.read)).toBe(0);
        await owner.query('rollback');
      });
    } finally {
      await own.stop();
    }
  });

  it('are counted by index, also by a connection whose plans are of an empty database', async () => {
    const own = await startTestApp({ worker: false });
    try {
      const system = systemDb(own.pools);
      const count = async (workspaceId: string) => {
        while (await withTenant(own.pools, workspaceId, countSome));
      };
      const insert = (workspaceId: string, messages: number) =>
        system.query(sql.type(NoRows)`
          insert into messages (workspace_id, id, channel, status, address, source, line_id, scheduled_at)
          select ${workspaceId}, lpad(to_hex(n), 24, '0'), 'imessage', 'delivered', '+1415' || n % 2000, 'api', ${LINE}, now()
          from generate_series(1, ${messages}::int) n returning null`);
      const small = await createWorkspace(own);
      await insert(small.id, 5);
      await connected(own.ownerUrl, (owner) => owner.query('vacuum analyze'));
      // PostgreSQL may keep a plan after five executions.
      for (let turn = 0; turn < 10; turn += 1) {
        await system.query(sql.type(NoRows)`delete from analytics_progress`);
        await system.query(sql.type(NoRows)`delete from analytics_days`);
        await count(small.id);
      }
      const large = await createWorkspace(own);
      await insert(large.id, 10_000);
      const read = await withTenant(own.pools, large.id, async (db) => {
        while (await countSome(db));
        return db.one(sql.type(z.object({ messages: z.int(), changes: z.int() }))`
          select max(seq_tup_read) filter (where relname = 'messages') messages,
            max(seq_tup_read + idx_tup_fetch) filter (where relname = 'analytics_changes') changes
          from pg_stat_xact_user_tables`);
      });
      // All of them a few times, but not for each of 2,000 contacts.
      expect(read.messages).toBeLessThan(100_000);
      expect(read.changes).toBeLessThan(500_000);
    } finally {
      await own.stop();
    }
  });

  it('have the same positive tags as the rules', async () => {
    const isPositive = (tag: string) =>
      systemDb(app.pools).oneFirst(sql.type(z.object({ positive: z.boolean() }))`
        select is_positive(array['cold', ${tag}]) positive`);
    for (const tag of POSITIVE_TAGS) expect(await isPositive(tag.toUpperCase())).toBe(true);
    expect(await isPositive('interested, later')).toBe(false);
  });
});
