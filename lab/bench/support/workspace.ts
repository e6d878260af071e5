import { sql } from 'slonik';
import { z } from 'zod';
import type { Pools } from '../../../db/connection/pools.ts';
import { ROWS_INSERTED } from '../../../db/connection/recordset.ts';
import { withSystem } from '../../../db/connection/transactions.ts';
import { newApiKey } from '../../../domain/accounts/api-key.ts';
import { newId, newUserId, newWorkspaceId } from '../../../domain/base/ids.ts';

/** Creates a workspace with a key and a number of active lines. */
export async function createBenchWorkspace(
  pools: Pools,
  lines: number,
): Promise<{ id: string; userId: string; key: string; lineIds: string[] }> {
  const id = newWorkspaceId();
  const userId = newUserId();
  const { key, hash, prefix, last4 } = newApiKey('workspace');
  const lineIds = Array.from({ length: lines }, () => newId());
  await withSystem(pools, async (db) => {
    const run = (query: Parameters<typeof db.query>[0]) => db.query(query);
    await run(
      sql.type(z.unknown())`insert into users (id, email) values (${userId}, ${`${userId}@example.test`})`,
    );
    await run(sql.type(z.unknown())`
      insert into workspaces (id, name, timezone, country, plan, subscription_status, created_by_user_id)
      values (${id}, 'Bench', 'UTC', 'US', 'growth', 'active', ${userId})`);
    await run(sql.type(z.unknown())`
      insert into workspace_members (workspace_id, user_id, role, is_owner) values (${id}, ${userId}, 'org:admin', true)`);
    await run(sql.type(z.unknown())`
      insert into workspace_keys (workspace_id, id, name, hash, prefix, last4)
      values (${id}, ${newId()}, 'Bench', ${hash}, ${prefix}, ${last4})`);
    await run(sql.type(z.unknown())`
      insert into lines (workspace_id, id, channel, phone, provisioning_status, carrier, daily_total_limit, daily_new_limit,
        min_gap_seconds, contact_gap_seconds)
      select ${id}, line_id, 'imessage', '+14155550100', 'active', 'simulated', 150, 50, 20, 60
      from ${sql.unnest(
        lineIds.map((lineId) => [lineId]),
        ['text'],
      )} as t (line_id)
      ${ROWS_INSERTED}`);
    await run(sql.type(z.unknown())`
      insert into lookups (kind, key, workspace_id)
      select 'line', id, workspace_id from lines where workspace_id = ${id}
      union all select 'key', ${hash}, ${id}
      ${ROWS_INSERTED}`);
  });
  return { id, userId, key, lineIds };
}

/** Lets every line of a workspace send as fast as it can. */
export async function unpaced(pools: Pools, workspaceId: string): Promise<void> {
  await withSystem(pools, (db) =>
    db.query(sql.type(z.unknown())`
      update lines set daily_total_limit = 10000, daily_new_limit = 10000, hourly_new_limit = 10000, min_gap_seconds = 0,
        contact_gap_seconds = 0 where workspace_id = ${workspaceId}`),
  );
}
