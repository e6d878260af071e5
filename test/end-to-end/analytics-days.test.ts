import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { countSome } from '#db/commands/analytics/count-days.ts';
import { countsOfDays } from '#db/queries/analytics-days.ts';
import { countMessages } from '#db/queries/analytics.ts';
import { NoRows } from '#db/rows.ts';
import { systemDb, withSystem, withTenant } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { POSITIVE_TAGS } from '#domain/metrics.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: true });
});

const LINE = newId();
const ZONE = 'America/New_York';

/** Messages at noon of each day of 2026-03, to as many contacts in turn. */
async function insertMessages(workspaceId: string, { count, contacts }: { count: number; contacts: number }) {
  await withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      insert into messages (workspace_id, id, channel, status, address, source, line_id, scheduled_at, created_at)
      select ${workspaceId}, lpad(to_hex(n), 24, '0'), 'imessage', 'sending', '+1415' || (5550000 + n % ${contacts}::int), 'api',
        ${LINE}, t, t
      from generate_series(1, ${count}::int) n, lateral (values (timestamptz '2026-03-01 12:00Z' + n % 31 * interval '1 day')) t (t)`),
  );
}

const send = (workspaceId: string, first: number, last: number) =>
  withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      update messages set status = 'sent', sent_at = created_at
      where workspace_id = ${workspaceId} and id = any(array(
        select lpad(to_hex(n), 24, '0') from generate_series(${first}::int, ${last}::int) n))`),
  );

const countAll = async (workspaceId: string): Promise<void> => {
  while (await withTenant(app.pools, workspaceId, countSome));
};

const byDays = (workspaceId: string, timeZone = ZONE, lineId = workspaceId) =>
  withTenant(app.pools, workspaceId, (db) =>
    countsOfDays(db, {
      subjectId: lineId,
      timeZone,
      days: { starts: ['2026-03-01', '2026-03-11'], end: '2026-03-21' },
    }),
  );

const byMessages = (workspaceId: string, from: string, to: string) =>
  withTenant(app.pools, workspaceId, (db) =>
    // A range that is cut within a day is counted from messages.
    countMessages(
      db,
      { from: new Date(`${from}T05:00:01Z`), to: new Date(`${to}T03:59:59Z`), lineId: LINE },
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
    await insertMessages(id, { count: 45_000, contacts: 9000 });
    await send(id, 1, 15_000);
    // Contacts are counted in the order of their addresses, and these are of all of them.
    expect(await withTenant(app.pools, id, countSome)).toBe(true);
    await send(id, 15_001, 30_000);
    await countAll(id);
    await send(id, 30_001, 40_000);
    expect(await byDays(id)).toEqual(await expected(id));
    // Too many changes to add are not added by readers.
    await send(id, 40_001, 42_000);
    expect(await byDays(id)).toBeNull();
    await countAll(id);
    expect(await byDays(id)).toEqual(await expected(id));
    expect(await byDays(id, ZONE, LINE)).toEqual(await expected(id));
    expect(await byDays(id, ZONE, newId())).toMatchObject([{ reached: 0 }, { reached: 0 }]);
  }, 60_000);

  it('are counted anew when the time zone changes, and are not used meanwhile', async () => {
    const { id } = await createWorkspace(app, { timezone: 'Asia/Tokyo' });
    await insertMessages(id, { count: 100, contacts: 10 });
    await send(id, 1, 100);
    await countAll(id);
    expect(await byDays(id, 'Asia/Tokyo')).not.toBeNull();
    expect(await byDays(id)).toBeNull();
    await systemDb(app.pools).query(
      sql.type(NoRows)`update workspaces set timezone = ${ZONE} where id = ${id}`,
    );
    await countAll(id);
    expect(await byDays(id, 'Asia/Tokyo')).toBeNull();
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
      while (!sent.signal.aborted) await withTenant(app.pools, id, countSome);
    });
    await Promise.all([sending, ...counting]);
    expect(await byDays(id)).toEqual(await expected(id));
    await countAll(id);
    expect(await byDays(id)).toEqual(await expected(id));
  }, 60_000);

  it('are brought up to date by housekeeping', async () => {
    const { id } = await createWorkspace(app, { timezone: ZONE });
    await insertMessages(id, { count: 10, contacts: 5 });
    await send(id, 1, 10);
    const handle = await app.temporal.workflow.start('housekeeping', {
      taskQueue: MAIN_QUEUE,
      workflowId: `housekeeping-${id}`,
    });
    const left = () =>
      systemDb(app.pools).anyFirst(sql.type(z.object({ n: z.int() }))`
        select 1 n from analytics_changes where workspace_id = ${id}`);
    await eventually(async () => (await left()).length === 0);
    await handle.terminate();
    expect(await byDays(id)).toEqual(await expected(id));
  });

  it('have the same positive tags as the rules', async () => {
    const isPositive = (tag: string) =>
      systemDb(app.pools).oneFirst(sql.type(z.object({ positive: z.boolean() }))`
        select is_positive(array['cold', ${tag}]) positive`);
    for (const tag of POSITIVE_TAGS) expect(await isPositive(tag.toUpperCase())).toBe(true);
    expect(await isPositive('interested, later')).toBe(false);
  });
});
