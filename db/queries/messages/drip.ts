import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import type { EarlierAnswer, Drip } from '#domain/messages/drip.ts';
import { bufferedForm } from '#domain/messages/buffered-message.ts';
import type { ApiPools } from '#db/connection/pools.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemTransaction, TenantDb } from '#db/connection/transactions.ts';
import { dripDrainerId } from '#workflows/protocol/workflow-ids.ts';

interface OwnedDrip {
  workspaceId: string;
  drip: Drip;
}

/** The answers to earlier drips, by workspace and fingerprint. */
export type EarlierAnswers = ReadonlyMap<string, ReadonlyMap<string, EarlierAnswer>>;

/**
 * Claims each drip's fingerprint for 60 minutes, buffers the drips whose fingerprint was free, and wakes their drainers.
 * @param drips of any number of workspaces.
 * @returns the answers to drips whose fingerprints were claimed before, that is, to duplicates.
 */
export async function bufferDrips(
  db: SystemTransaction,
  drips: readonly OwnedDrip[],
  now: Date,
): Promise<EarlierAnswers> {
  const { earlier, woken } = await callBuffer(
    db,
    drips,
    now,
    (batch) => sql.fragment`buffer_drips(${batch}, null)`,
  );
  for (const workspaceId of woken) db.wakes.signal(dripDrainerId(workspaceId), workspaceId, SIGNAL);
  return earlier;
}

/**
 * Like `bufferDrips`, in a transaction of its own, which is one message to the database and one back. As with `withIntake`, it
 * reads and writes rows of these workspaces only, and fails soon if one of them is locked.
 */
export async function bufferDripsAtOnce(
  { intake, waker }: ApiPools,
  drips: readonly OwnedDrip[],
  now: Date,
): Promise<EarlierAnswers> {
  const workspaceIds = [...new Set(drips.map(({ workspaceId }) => workspaceId))];
  const { earlier, woken } = await callBuffer(
    intake,
    drips,
    now,
    (batch) => sql.fragment`buffer_drips(${batch}, ${workspaceIds.join(',')})`,
  );
  for (const workspaceId of woken) waker?.wake(dripDrainerId(workspaceId), workspaceId, SIGNAL);
  return earlier;
}

const SIGNAL = 'dripsBuffered';

const BufferRow = z.object({
  duplicates: z.array(z.object({ n: z.int(), scheduledMs: z.number(), jitterMs: z.int() })).nullable(),
  woken: z.array(z.string()).nullable(),
});

async function callBuffer(
  db: CommonQueryMethods,
  drips: readonly OwnedDrip[],
  now: Date,
  call: (batch: FragmentSqlToken) => FragmentSqlToken,
): Promise<{ earlier: EarlierAnswers; woken: readonly string[] }> {
  const earlier = new Map<string, Map<string, EarlierAnswer>>();
  const rows = rowsOf(drips);
  if (rows.length === 0) return { earlier, woken: [] };
  const batch = sql.fragment`${JSON.stringify(rows)}, ${dripDrainerId('')}, ${sql.timestamp(now)}, ${SIGNAL}`;
  const { duplicates, woken } = await db.one(
    sql.type(BufferRow)`select duplicates, woken from ${call(batch)}`,
  );
  for (const { n, scheduledMs, jitterMs } of duplicates ?? []) {
    const duplicate = drips[n];
    if (!duplicate) throw new Error(`there is no drip ${n}`);
    const { workspaceId, drip } = duplicate;
    const own = earlier.get(workspaceId) ?? new Map<string, EarlierAnswer>();
    earlier.set(
      workspaceId,
      own.set(drip.fingerprint, { scheduledDate: new Date(scheduledMs).toISOString(), jitterMs }),
    );
  }
  return { earlier, woken: woken ?? [] };
}

/** The first drip of each fingerprint, as `buffer_drips` reads them. */
function rowsOf(drips: readonly OwnedDrip[]): object[] {
  const seen = new Set<string>();
  const rows: object[] = [];
  for (const [n, { workspaceId, drip }] of drips.entries()) {
    const { message, fingerprint, answer } = drip;
    const name = `${workspaceId} ${fingerprint}`;
    if (seen.has(name)) continue;
    seen.add(name);
    rows.push({
      n,
      workspace_id: workspaceId,
      id: message.id,
      fingerprint,
      scheduled_at: answer.scheduledDate,
      jitter_ms: answer.jitterMs,
      draft: bufferedForm(message),
    });
  }
  return rows;
}

const BufferedDrip = z.object({ id: z.string(), draft: z.unknown() });
/** A buffered drip. `draft` has the short form of a message (`unbuffered`), which is parsed when it becomes a message. */
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

/** Lets the claims of a workspace in test mode expire earlier. */
export async function ageDripClaims(db: TenantDb, ms: number): Promise<void> {
  await db.query(sql.type(NoRows)`
    with ordered as (
      select fingerprint from drip_claims where workspace_id = ${db.workspaceId} order by fingerprint for update
    )
    update drip_claims c set created_at = earlier(c.created_at, ${ms}) from ordered o
    where c.workspace_id = ${db.workspaceId} and c.fingerprint = o.fingerprint`);
}

export async function hasBufferedDrips(db: TenantDb): Promise<boolean> {
  return db.exists(sql.type(NoRows)`select 1 from drip_buffer where workspace_id = ${db.workspaceId}`);
}
