import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { publishEvents } from '#db/commands/outbox/publish-events.ts';
import { createPools, type Pools } from '#db/pools.ts';
import { systemDb, type SystemDb, withSystem } from '#db/transactions.ts';
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

const emit = (db: SystemDb, prefix: string, count: number) =>
  db.query(sql.type(z.unknown())`
    insert into emitted_events (workspace_id, id)
    select 'org_1', ${prefix} || lpad(to_hex(n), 16, '0') from generate_series(1, ${count}::int) n`);

const Row = z.object({ prefix: z.string(), count: z.int(), first: z.int(), last: z.int() });

/** How many events there are of each transaction, and at which positions. */
const published = () =>
  systemDb(pools).any(sql.type(Row)`
    select left(id, 8) prefix, count(distinct position) "count", min(position) first, max(position) last
    from published_events group by 1 order by min(position)`);

test('a backlog is published in batches, whole transactions each, and late ones after the rest', async () => {
  const mayCommit = Promise.withResolvers<void>();
  const emitted = Promise.withResolvers<void>();
  const late = withSystem(pools, async (db) => {
    await emit(db, 'a0000000', 3);
    emitted.resolve();
    await mayCommit.promise;
  });
  await emitted.promise;
  for (const prefix of ['10000000', '20000000', '30000000'])
    await withSystem(pools, (db) => emit(db, prefix, 4000));
  // The 5,000th is in the second transaction.
  expect([await publishEvents(pools), await publishEvents(pools)]).toEqual([true, false]);
  mayCommit.resolve();
  await late;
  expect(await publishEvents(pools)).toBe(false);
  expect(await published()).toEqual([
    { prefix: '10000000', count: 4000, first: 1, last: 4000 },
    { prefix: '20000000', count: 4000, first: 4001, last: 8000 },
    { prefix: '30000000', count: 4000, first: 8001, last: 12_000 },
    { prefix: 'a0000000', count: 3, first: 12_001, last: 12_003 },
  ]);
});

test('events are published by many processes at once, each once', async () => {
  await Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      await withSystem(pools, (db) => emit(db, `4000000${writer}`, 50));
      await publishEvents(pools);
    }),
  );
  await publishEvents(pools);
  const found = (await published()).filter(({ prefix }) => prefix.startsWith('4'));
  expect(found.map(({ count }) => count)).toEqual(Array(8).fill(50));
  expect(Math.max(...found.map(({ last }) => last))).toBe(12_403);
});

test('a database that was restored on another server, with ids of transactions of its own, goes on', async () => {
  await systemDb(pools).query(sql.type(z.unknown())`
    update event_batches set snapshot = '900000000:900000000:'
    where position = (select max(position) from event_batches)`);
  await publishEvents(pools);
  await withSystem(pools, (db) => emit(db, '50000000', 2));
  await publishEvents(pools);
  expect((await published()).at(-1)).toEqual({ prefix: '50000000', count: 2, first: 12_404, last: 12_405 });
});
