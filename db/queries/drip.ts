import { sql } from 'slonik';
import { z } from 'zod';
import { type Drip, DripAcknowledgement } from '#domain/drip.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';

/** How long a fingerprint is claimed. */
const DEDUPE_WINDOW = sql.fragment`interval '60 minutes'`;

const FingerprintRow = z.object({ fingerprint: z.string() });

const DuplicateRow = z.object({ fingerprint: z.string(), acknowledgement: DripAcknowledgement });

/**
 * Claims each drip's fingerprint for 60 minutes, and buffers the drips whose fingerprint was free.
 * @returns the acknowledgements of fingerprints that were claimed before, that is, of duplicates.
 */
export async function bufferDrips(
  db: TenantDb,
  drips: readonly Drip[],
): Promise<Map<string, DripAcknowledgement>> {
  if (drips.length === 0) return new Map();
  const rows = drips.map(({ draft, fingerprint, acknowledgement }, arrival) => ({
    id: draft.id,
    arrival,
    fingerprint,
    acknowledgement,
    draft,
  }));
  const first = new Map(rows.toReversed().map((row) => [row.fingerprint, row]));
  const claimed = new Set(
    await db.anyFirst(sql.type(FingerprintRow)`
      with drips as materialized (
        select ${db.workspaceId}::text workspace_id, d.*
        from jsonb_to_recordset(${sql.jsonb([...first.values()])})
          as d (id text, arrival int, fingerprint text, acknowledgement jsonb, draft jsonb)
      ), claimed as (
        -- In one order, so that two batches with the same fingerprints do not deadlock.
        insert into drip_fingerprints (workspace_id, fingerprint, acknowledgement)
        select workspace_id, fingerprint, acknowledgement from drips order by fingerprint
        on conflict (workspace_id, fingerprint) do update
          set acknowledgement = excluded.acknowledgement, created_at = now()
          where drip_fingerprints.created_at < now() - ${DEDUPE_WINDOW}
        returning fingerprint
      ), buffered as (
        insert into drip_buffer (workspace_id, id, draft)
        select d.workspace_id, d.id, d.draft from drips d join claimed using (fingerprint) order by d.arrival
      )
      select fingerprint from claimed`),
  );
  const taken = [...first.keys()].filter((fingerprint) => !claimed.has(fingerprint));
  if (taken.length === 0) return new Map();
  const earlier = await db.any(sql.type(DuplicateRow)`
    select fingerprint, acknowledgement from drip_fingerprints
    where workspace_id = ${db.workspaceId} and fingerprint = any(${sql.array(taken, 'text')})`);
  return new Map(earlier.map((row) => [row.fingerprint, row.acknowledgement]));
}

const BufferedDrip = z.object({ id: z.string(), draft: z.unknown() });
/** A buffered drip. Its draft is parsed when it becomes a message. */
export type BufferedDrip = z.infer<typeof BufferedDrip>;

/** Removes the oldest drips from the buffer. */
export async function takeDrips(db: TenantDb, limit: number): Promise<BufferedDrip[]> {
  // `any(array(…))` is evaluated once; a subquery in `in (…)` may run for every row and take `limit` more each time.
  // By `ctid`, so that the plan does not depend on statistics, which are stale for a table that fills and empties.
  const drips = await db.any(sql.type(BufferedDrip)`
    with taken as (
      delete from drip_buffer where workspace_id = ${db.workspaceId} and ctid = any(array(
        select ctid from drip_buffer where workspace_id = ${db.workspaceId} order by arrival limit ${limit} for update
      )) returning id, arrival, draft
    )
    select id, draft from taken order by arrival`);
  return [...drips];
}

export async function hasBufferedDrips(db: TenantDb): Promise<boolean> {
  return db.exists(sql.type(NoRows)`select 1 from drip_buffer where workspace_id = ${db.workspaceId}`);
}
