import { sql } from 'slonik';
import { z } from 'zod';
import { type Drip, DripAcknowledgement } from '#domain/drip.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';

/** How long a fingerprint is claimed. */
const DEDUPE_WINDOW = sql.fragment`interval '60 minutes'`;

const FingerprintRow = z.object({ workspaceId: z.string(), fingerprint: z.string() });

const DuplicateRow = FingerprintRow.extend({ acknowledgement: DripAcknowledgement });

/**
 * Claims each drip's fingerprint for 60 minutes, and buffers the drips whose fingerprint was free.
 * @param drips of any number of workspaces.
 * @returns the acknowledgements of fingerprints that were claimed before, that is, of duplicates, by workspace.
 */
export async function bufferDrips(
  db: SystemDb,
  drips: readonly { workspaceId: string; drip: Drip }[],
): Promise<Map<string, Map<string, DripAcknowledgement>>> {
  const earlier = new Map<string, Map<string, DripAcknowledgement>>();
  if (drips.length === 0) return earlier;
  const first = new Map<string, object>();
  for (const [arrival, { workspaceId, drip }] of drips.entries()) {
    const { draft, fingerprint, acknowledgement } = drip;
    const name = `${workspaceId} ${fingerprint}`;
    if (!first.has(name))
      first.set(name, {
        workspace_id: workspaceId,
        id: draft.id,
        arrival,
        fingerprint,
        acknowledgement,
        draft,
      });
  }
  const taken = await db.any(sql.type(FingerprintRow)`
    with drips as materialized (
      select * from jsonb_to_recordset(${JSON.stringify([...first.values()])}::jsonb)
        as d (workspace_id text, id text, arrival int, fingerprint text, acknowledgement jsonb, draft jsonb)
    ), claimed as (
      -- In one order, so that two batches with the same fingerprints do not deadlock.
      insert into drip_fingerprints (workspace_id, fingerprint, acknowledgement)
      select workspace_id, fingerprint, acknowledgement from drips order by workspace_id, fingerprint
      on conflict (workspace_id, fingerprint) do update
        set acknowledgement = excluded.acknowledgement, created_at = now()
        where drip_fingerprints.created_at < now() - ${DEDUPE_WINDOW}
      returning workspace_id, fingerprint
    ), buffered as (
      insert into drip_buffer (workspace_id, id, draft)
      select d.workspace_id, d.id, d.draft from drips d join claimed using (workspace_id, fingerprint) order by d.arrival
    )
    select workspace_id, fingerprint from drips left join claimed using (workspace_id, fingerprint)
    where claimed.fingerprint is null`);
  if (taken.length === 0) return earlier;
  // In a statement of its own, because a concurrent batch may have committed since the first one began.
  const rows = await db.any(sql.type(DuplicateRow)`
    select workspace_id, fingerprint, acknowledgement
    from ${sql.unnest(
      taken.map(({ workspaceId, fingerprint }) => [workspaceId, fingerprint]),
      ['text', 'text'],
    )} as taken (workspace_id, fingerprint) join drip_fingerprints using (workspace_id, fingerprint)`);
  for (const { workspaceId, fingerprint, acknowledgement } of rows) {
    const own = earlier.get(workspaceId) ?? new Map<string, DripAcknowledgement>();
    earlier.set(workspaceId, own.set(fingerprint, acknowledgement));
  }
  return earlier;
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
