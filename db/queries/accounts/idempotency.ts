import { sql } from 'slonik';
import { z } from 'zod';
import type { StoredResponse } from '#domain/accounts/idempotency.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { recordset } from '#db/connection/recordset.ts';

const Row = z.object({
  workspaceId: z.string(),
  key: z.string(),
  requestHash: z.string(),
  status: z.int(),
  response: z.unknown(),
});

/** How long a key is kept. */
export const KEY_LIFETIME = sql.fragment`interval '24 hours'`;

const KeyRow = z.object({ workspaceId: z.string(), key: z.string() });

/** A key of a workspace. */
interface WorkspaceKey {
  workspaceId: string;
  key: string;
}

/** Keys of different workspaces are different. */
const nameOf = ({ workspaceId, key }: WorkspaceKey): string => `${workspaceId} ${key}`;

/**
 * Claims keys for this transaction. Waits for concurrent requests with the same key, whose rows are locked until they
 * commit.
 * @returns the stored responses of keys that were used before, by workspace and key.
 */
export async function claimIdempotencyKeys(
  db: TenantDb | SystemDb,
  route: string,
  keys: readonly (WorkspaceKey & { requestHash: string })[],
): Promise<Map<string, Map<string, StoredResponse>>> {
  if (keys.length === 0) return new Map();
  const first = new Map(keys.toReversed().map((key) => [nameOf(key), key]));
  const claimed = await db.any(sql.type(KeyRow)`
    insert into idempotency_keys (workspace_id, route, key, request_hash)
    select k.workspace_id, ${route}, k.key, k.hash
    from ${sql.unnest(
      [...first.values()].map(({ workspaceId, key, requestHash }) => [workspaceId, key, requestHash]),
      ['text', 'text', 'text'],
    )} as k (workspace_id, key, hash)
    -- In one order, so that two batches with the same keys do not deadlock.
    order by k.workspace_id, k.key
    on conflict (workspace_id, route, key) do update
      set request_hash = excluded.request_hash, status = null, response = null, created_at = excluded.created_at
      where idempotency_keys.status is null or excluded.created_at - idempotency_keys.created_at > ${KEY_LIFETIME}
    returning workspace_id, key`);
  for (const key of claimed) first.delete(nameOf(key));
  if (first.size === 0) return new Map();
  const rows = await db.any(sql.type(Row)`
    select workspace_id, key, request_hash, status, response
    from ${sql.unnest(
      [...first.values()].map(({ workspaceId, key }) => [workspaceId, key]),
      ['text', 'text'],
    )} as taken (workspace_id, key) join idempotency_keys using (workspace_id, key)
    where route = ${route}`);
  const stored = new Map<string, Map<string, StoredResponse>>();
  for (const { workspaceId, key, ...response } of rows)
    stored.set(
      workspaceId,
      (stored.get(workspaceId) ?? new Map<string, StoredResponse>()).set(key, response),
    );
  return stored;
}

/** Whether a request with this key has been answered. */
export async function hasIdempotencyKey(db: TenantDb, route: string, key: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from idempotency_keys
    where workspace_id = ${db.workspaceId} and route = ${route} and key = ${key} and status is not null
      and created_at > now() - ${KEY_LIFETIME}`);
}

/** Releases the key of a request whose effect was undone, so that it can be retried. */
export async function releaseIdempotencyKey(db: TenantDb, route: string, key: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from idempotency_keys where workspace_id = ${db.workspaceId} and route = ${route} and key = ${key}`);
}

/** Lets the keys of a workspace in test mode expire earlier. */
export async function ageIdempotencyKeys(db: TenantDb, ms: number): Promise<void> {
  await db.query(sql.type(NoRows)`
    with ordered as (
      select route, key from idempotency_keys where workspace_id = ${db.workspaceId} order by route, key for update
    )
    update idempotency_keys i set created_at = earlier(i.created_at, ${ms}) from ordered o
    where i.workspace_id = ${db.workspaceId} and i.route = o.route and i.key = o.key`);
}

/** Stores responses for retries. A claimed key without a response can be claimed again. */
export async function storeResponses(
  db: TenantDb | SystemDb,
  route: string,
  answers: readonly (WorkspaceKey & { status: number; response: unknown })[],
): Promise<void> {
  if (answers.length > 0) {
    const rows = answers.map((answer) => ({ ...answer, route }));
    await db.query(sql.type(NoRows)`
      update idempotency_keys i set status = a.status, response = a.response
      from ${recordset('idempotency_keys', rows)} a
      where i.workspace_id = a.workspace_id and i.route = a.route and i.key = a.key`);
  }
}
