import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { publishAllEvents, publishBatches, publishEvents } from '#db/commands/events/publish-events.ts';
import { createPools, type Pools } from '#db/connection/pools.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { systemDb, type SystemDb, withSystem } from '#db/connection/transactions.ts';
import { firstId } from '#domain/base/ids.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';

let database: TestDatabase;
let pools: Pools;
beforeAll(async () => {
  database = await createTestDatabase();
  pools = await createPools(database, { size: 4 });
});
afterAll(async () => {
  await pools.close();
  await database.drop();
});

const insertWorkspace = (id: string) =>
  systemDb(pools).query(sql.type(z.unknown())`insert into workspaces (id, name) values (${id}, ${id})`);

const NOW = new Date();

/** Emits events whose ids have something in common after their time, by which the tests know them. */
const emit = (db: SystemDb, group: string, count: number, workspaceId = 'org_1', at = NOW) =>
  db.query(sql.type(z.unknown())`
    insert into emitted_events (workspace_id, id)
    select ${workspaceId}, ${firstId(at).slice(0, 8) + group} || lpad(to_hex(n), 8, '0') from generate_series(1, ${count}::int) n
    ${ROWS_INSERTED}`);

const emitted = (group: string, count: number, workspaceId?: string) =>
  withSystem(pools, (db) => emit(db, group, count, workspaceId));

/** Publishes until nothing is left. */
async function publish(workspaceId = 'org_1'): Promise<void> {
  const [batch] = await publishBatches(pools, [workspaceId]);
  if (batch?.more) await publish(workspaceId);
}

const Row = z.object({ group: z.string(), count: z.int(), first: z.int(), last: z.int() });

/** How many events there are of each transaction, and at which positions. */
const published = (workspaceId = 'org_1') =>
  systemDb(pools).any(sql.type(Row)`
    select substr(id, 9, 8) "group", count(distinct position) "count", min(position) first, max(position) last
    from published_events where workspace_id = ${workspaceId} group by 1 order by min(position)`);

/** Does something in a transaction that is not committed yet. @returns what commits it. */
async function begun(work: (db: SystemDb) => Promise<unknown>): Promise<() => Promise<void>> {
  const mayCommit = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const transaction = withSystem(pools, async (db) => {
    await work(db);
    done.resolve();
    await mayCommit.promise;
  });
  await Promise.race([done.promise, transaction]);
  return () => {
    mayCommit.resolve();
    return transaction;
  };
}

test('a backlog is published in batches, whole transactions each, and late ones after the rest', async () => {
  await insertWorkspace('org_1');
  await emitted('01000000', 1);
  await publish();
  const commit = await begun((db) => emit(db, 'a0000000', 3));
  for (const group of ['10000000', '20000000', '30000000']) await emitted(group, 4000);
  // The 5,000th is in the second transaction.
  await publishBatches(pools, ['org_1']);
  expect((await published()).at(-1)?.group).toBe('20000000');
  await publish();
  await commit();
  await publish();
  expect(await published()).toEqual([
    { group: '01000000', count: 1, first: 1, last: 1 },
    { group: '10000000', count: 4000, first: 2, last: 4001 },
    { group: '20000000', count: 4000, first: 4002, last: 8001 },
    { group: '30000000', count: 4000, first: 8002, last: 12_001 },
    { group: 'a0000000', count: 3, first: 12_002, last: 12_004 },
  ]);
});

test('events are published by many processes at once, each once', async () => {
  await Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      await emitted(`4000000${writer}`, 50);
      await publish();
    }),
  );
  const found = (await published()).filter(({ group }) => group.startsWith('4'));
  expect(found.map(({ count }) => count)).toEqual(Array(8).fill(50));
  expect(Math.max(...found.map(({ last }) => last))).toBe(12_404);
});

test('a database that was restored on another server, with ids of transactions of its own, goes on', async () => {
  await emitted('50000000', 6000);
  await systemDb(pools).query(sql.type(z.unknown())`
    update event_publications set snapshot = '900000000:900000000:', server = 'another' where workspace_id = 'org_1'`);
  await publish();
  await emitted('60000000', 2);
  await publish();
  const [before, found, after] = (await published()).slice(-3);
  expect([found, after]).toMatchObject([
    { group: '50000000', count: 6000 },
    { group: '60000000', count: 2 },
  ]);
  expect(found?.first).toBeGreaterThan(before?.last ?? Infinity);
});

test('each workspace has positions of its own, and none waits for another', async () => {
  await insertWorkspace('org_2');
  await emitted('70000000', 2);
  const release = await begun((db) =>
    db.query(sql.type(z.unknown())`select from event_publications where workspace_id = 'org_1' for update`),
  );
  await emitted('70000001', 3, 'org_2');
  const failures: unknown[] = [];
  const reached = await publishEvents(pools, ['org_1', 'org_2'], {
    onFailure: (error) => void failures.push(error),
  });
  expect(reached).toEqual([{ workspaceId: 'org_2', position: 3, more: false }]);
  expect(failures).toHaveLength(1);
  expect(await published('org_2')).toEqual([{ group: '70000001', count: 3, first: 1, last: 3 }]);
  await release();
  expect((await published()).at(-1)?.group).toBe('60000000');
});

test('housekeeping publishes what no stream has asked for', async () => {
  await insertWorkspace('org_3');
  await emitted('80000000', 6000, 'org_3');
  await publishAllEvents(pools, () => true);
  expect((await published()).at(-1)?.group).toBe('70000000');
  expect(await published('org_3')).toEqual([{ group: '80000000', count: 6000, first: 1, last: 6000 }]);
});

test('nothing of a backlog of days is passed over', async () => {
  await insertWorkspace('org_4');
  await emitted('90000000', 1, 'org_4');
  await publish('org_4');
  await systemDb(pools).query(sql.type(z.unknown())`
    update event_publications set published_at = now() - interval '3 days' where workspace_id = 'org_4'`);
  const at = new Date(NOW.getTime() - 2 * 86_400_000);
  for (const group of ['90000001', '90000002', '90000003'])
    await withSystem(pools, (db) => emit(db, group, 4000, 'org_4', at));
  await publish('org_4');
  expect((await published('org_4')).map(({ count }) => count)).toEqual([1, 4000, 4000, 4000]);
});
