import { sql } from 'slonik';
import { z } from 'zod';
import type { StoredResponse } from '#domain/accounts/idempotency.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { KEY_LIFETIME } from './idempotency.ts';

const Row = z.object({ requestHash: z.string(), status: z.int(), response: z.string() });

/** Like `claimIdempotencyKeys`, for a request with an agency's credential. @returns null if the key was free. */
export async function claimAgencyIdempotencyKey(
  db: SystemDb,
  agencyId: string,
  { route, key, hash }: { route: string; key: string; hash: string },
): Promise<StoredResponse | null> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into agency_idempotency_keys (agency_id, route, key, request_hash) values (${agencyId}, ${route}, ${key}, ${hash})
    on conflict (agency_id, route, key) do update
      set request_hash = excluded.request_hash, status = null, response_sealed = null, created_at = excluded.created_at
      where agency_idempotency_keys.status is null
        or excluded.created_at - agency_idempotency_keys.created_at > ${KEY_LIFETIME}`);
  if (rowCount > 0) return null;
  return db.one(sql.type(Row)`
    select request_hash, status, response_sealed response from agency_idempotency_keys
    where agency_id = ${agencyId} and route = ${route} and key = ${key}`);
}

export async function storeAgencyResponse(
  db: SystemDb,
  agencyId: string,
  { route, key }: { route: string; key: string },
  { status, response }: { status: number; response: string },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update agency_idempotency_keys set status = ${status}, response_sealed = ${response}
    where agency_id = ${agencyId} and route = ${route} and key = ${key}`);
}
