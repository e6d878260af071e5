import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isOverload } from '#db/connection/overload.ts';
import { createPools, type Pools } from '#db/connection/pools.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { newWorkspaceId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';

let database: TestDatabase;
let pools: Pools;

beforeAll(async () => {
  database = await createTestDatabase();
  // One connection, so that the pool's prepared statements are those of its session.
  pools = await createPools(database, { size: 1 });
  await systemDb(pools).query(sql.type(NoRows)`
    insert into workspaces (id, name, timezone, country) values (${newWorkspaceId()}, 'Test', 'UTC', 'US')`);
});
afterAll(async () => {
  await pools.close();
  await database.drop();
});

const Statement = z.object({ uses: z.number() });
const prepared = (): Promise<readonly { uses: number }[]> =>
  systemDb(pools).any(sql.type(Statement)`
    select (generic_plans + custom_plans)::int uses from pg_prepared_statements where statement like 'select * from workspaces as probe%'`);
const probe = (): Promise<unknown> =>
  systemDb(pools).any(sql.type(z.unknown())`select * from workspaces as probe`);

describe('a statement', () => {
  it('is prepared on its second use', async () => {
    await probe();
    expect(await prepared()).toEqual([]);
    for (let use = 0; use < 3; use += 1) await probe();
    expect(await prepared()).toEqual([{ uses: 3 }]);
  });

  it('is prepared again after a migration changed its columns, with one retryable error', async () => {
    await probe();
    await probe();
    await connected(database.ownerUrl, (owner) =>
      owner.query('alter table workspaces add column probe text'),
    );
    const error: unknown = await probe().catch((error: unknown) => error);
    expect(isOverload(error)).toBe(true);
    await probe();
    await probe();
    expect(await prepared()).toContainEqual({ uses: 1 });
  });
});
