import { sql } from 'slonik';
import { z } from 'zod';
import { type Drip, DripAcknowledgement } from '#domain/drip.ts';
import type { MessageDraft } from '#domain/message-draft.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { recordset } from '#db/recordset.ts';

/** How long a fingerprint is claimed. */
const DEDUPE_WINDOW = sql.fragment`interval '60 minutes'`;

const FingerprintRow = z.object({ fingerprint: z.string() });

const DuplicateRow = z.object({ fingerprint: z.string(), acknowledgement: DripAcknowledgement });

/**
 * Claims each drip's fingerprint for 60 minutes.
 * @returns the acknowledgements of fingerprints that were claimed before, that is, of duplicates.
 */
export async function claimFingerprints(
  db: TenantDb,
  drips: readonly Pick<Drip, 'fingerprint' | 'acknowledgement'>[],
): Promise<Map<string, DripAcknowledgement>> {
  if (drips.length === 0) return new Map();
  const first = new Map(
    drips.toReversed().map(({ fingerprint, acknowledgement }) => [fingerprint, acknowledgement]),
  );
  // Sorted, so that two batches with the same fingerprints do not deadlock.
  const rows = [...first]
    .map(([fingerprint, acknowledgement]) => ({ workspaceId: db.workspaceId, fingerprint, acknowledgement }))
    .toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1));
  const claimed = new Set(
    await db.anyFirst(sql.type(FingerprintRow)`
      insert into drip_fingerprints (workspace_id, fingerprint, acknowledgement)
      select r.workspace_id, r.fingerprint, r.acknowledgement from ${recordset('drip_fingerprints', rows)} r
      on conflict (workspace_id, fingerprint) do update
        set acknowledgement = excluded.acknowledgement, created_at = now()
        where drip_fingerprints.created_at < now() - ${DEDUPE_WINDOW}
      returning fingerprint`),
  );
  const taken = rows.flatMap(({ fingerprint }) => (claimed.has(fingerprint) ? [] : [fingerprint]));
  if (taken.length === 0) return new Map();
  const earlier = await db.any(sql.type(DuplicateRow)`
    select fingerprint, acknowledgement from drip_fingerprints
    where workspace_id = ${db.workspaceId} and fingerprint = any(${sql.array(taken, 'text')})`);
  return new Map(earlier.map((row) => [row.fingerprint, row.acknowledgement]));
}

export async function bufferDrips(db: TenantDb, drafts: readonly MessageDraft[]): Promise<void> {
  const rows = drafts.map((draft, arrival) => ({
    workspaceId: db.workspaceId,
    id: draft.id,
    draft,
    arrival,
  }));
  await db.query(sql.type(NoRows)`
    insert into drip_buffer (workspace_id, id, draft)
    select r.workspace_id, r.id, r.draft from ${recordset('drip_buffer', rows)} r order by r.arrival`);
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
