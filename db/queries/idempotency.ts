import { sql } from 'slonik';
import { z } from 'zod';
import type { StoredResponse } from '#domain/idempotency.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { recordset } from '#db/recordset.ts';

const Row = z.object({ key: z.string(), requestHash: z.string(), status: z.int(), response: z.unknown() });

/** How long a key is kept. */
const LIFETIME = sql.fragment`interval '24 hours'`;

const KeyRow = z.object({ key: z.string() });

/**
 * Claims keys for this transaction. Waits for concurrent requests with the same key, whose rows are locked until they
 * commit.
 * @returns the stored responses of keys that were used before, by key.
 */
export async function claimIdempotencyKeys(
  db: TenantDb,
  route: string,
  keys: readonly { key: string; requestHash: string }[],
): Promise<Map<string, StoredResponse>> {
  if (keys.length === 0) return new Map();
  const hashes = new Map(
    keys.map(({ key, requestHash }) => [key, requestHash]).toReversed() as [string, string][],
  );
  // Sorted, so that two batches with the same keys do not deadlock.
  const names = [...hashes.keys()].toSorted();
  const claimed = new Set(
    await db.anyFirst(sql.type(KeyRow)`
      insert into idempotency_keys (workspace_id, route, key, request_hash)
      select ${db.workspaceId}, ${route}, k.key, k.hash
      from ${sql.unnest(
        names.map((key) => [key, hashes.get(key) ?? '']),
        ['text', 'text'],
      )} as k (key, hash)
      on conflict (workspace_id, route, key) do update
        set request_hash = excluded.request_hash, status = null, response = null, created_at = now()
        where idempotency_keys.status is null or idempotency_keys.created_at < now() - ${LIFETIME}
      returning key`),
  );
  const taken = names.filter((key) => !claimed.has(key));
  if (taken.length === 0) return new Map();
  const rows = await db.any(sql.type(Row)`
    select key, request_hash, status, response from idempotency_keys
    where workspace_id = ${db.workspaceId} and route = ${route} and key = any(${sql.array(taken, 'text')})`);
  return new Map(rows.map(({ key, ...answer }) => [key, answer]));
}

/** Releases the key of a request whose effect was undone, so that it can be retried. */
export async function releaseIdempotencyKey(db: TenantDb, route: string, key: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from idempotency_keys where workspace_id = ${db.workspaceId} and route = ${route} and key = ${key}`);
}

/** Stores responses for retries. A claimed key without a response can be claimed again. */
export async function storeResponses(
  db: TenantDb,
  route: string,
  answers: readonly { key: string; status: number; response: unknown }[],
): Promise<void> {
  if (answers.length > 0) {
    const rows = answers.map((answer) => ({ ...answer, workspaceId: db.workspaceId, route }));
    await db.query(sql.type(NoRows)`
      update idempotency_keys i set status = a.status, response = a.response
      from ${recordset('idempotency_keys', rows)} a
      where i.workspace_id = ${db.workspaceId} and i.route = ${route} and i.key = a.key`);
  }
}
