import { sql } from 'slonik';
import { z } from 'zod';
import { DeliveredEvent } from '#domain/event.ts';
import { firstId } from '#domain/ids.ts';
import { IdRow, NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';

/** A delivery that was taken to be sent, with all that sending it needs. */
export const ClaimedDelivery = z.object({
  id: z.string(),
  webhookId: z.string(),
  eventId: z.string(),
  event: DeliveredEvent,
  url: z.string(),
  body: z.string(),
  secretSealed: z.string(),
  previousSecretSealed: z.string().nullable(),
});
export type ClaimedDelivery = z.infer<typeof ClaimedDelivery>;

/**
 * How far a dispatcher has come. Whoever claims from the beginning each time passes over all that is done already and
 * cannot be vacuumed yet, because some transaction is older.
 */
export interface Claims {
  /** No delivery before this one was pending when the claims began. */
  readonly from: string;
  /** The last one claimed since, by webhook. */
  readonly last: Map<string, string>;
}

/** Deliveries appear when their transaction is committed, which takes less than this. */
const STRAGGLER_MS = 5000;
/** No clock is ahead by more. */
const AHEAD_MS = 3_600_000;

const inMs = (ms: number): Date => new Date(Date.now() + ms);
const earlier = (a: string, b: string): string => (a < b ? a : b);

/** Looks from the beginning, and so finds what was committed late, and what webhooks have that were inactive. */
export async function beginClaims(db: TenantDb): Promise<Claims> {
  const recent = firstId(inMs(-STRAGGLER_MS));
  return { from: earlier((await oldestPending(db)) ?? recent, recent), last: new Map() };
}

const LastIdRow = z.object({ id: z.string().nullable() });

/** The oldest delivery that waits for an active webhook. */
export async function oldestPending(db: TenantDb): Promise<string | null> {
  return db.oneFirst(sql.type(LastIdRow)`
    select min(d.id) id from webhooks h cross join lateral (
      select id from webhook_deliveries
      where workspace_id = ${db.workspaceId} and webhook_id = h.id and status = 'pending'
      order by id limit 1
    ) d
    where h.workspace_id = ${db.workspaceId} and h.is_active`);
}

/**
 * Takes the oldest pending deliveries of each webhook, as many as it has room for: a slow endpoint keeps its own
 * deliveries waiting and nobody else's, and those with the fewest under way come first. Committed before the first
 * byte is sent, so nothing is ever sent twice.
 * @param busy how many each webhook has under way already.
 */
export async function claimDeliveries(
  db: TenantDb,
  {
    claims: { from, last },
    perWebhook,
    busy,
    limit,
  }: { claims: Claims; perWebhook: number; busy: ReadonlyMap<string, number>; limit: number },
): Promise<ClaimedDelivery[]> {
  const recent = firstId(inMs(-STRAGGLER_MS));
  const known = [...new Set([...busy.keys(), ...last.keys()])].map((webhookId) => [
    webhookId,
    busy.get(webhookId) ?? 0,
    earlier(last.get(webhookId) ?? from, recent),
  ]);
  // Constants say which days these are of: the partitions of all others are not even opened. The planner knows nothing of
  // a day that has just begun; `materialized` and `offset 0` leave it no way but the indexes of the keys.
  const until = firstId(inMs(AHEAD_MS));
  const inDays = sql.fragment`id >= ${from} and id < ${until}`;
  const rows = await db.any(sql.type(ClaimedDelivery)`
    with room as materialized (
      select h.id, ${perWebhook} - coalesce(k.count, 0) free, coalesce(k.after, ${from}) "after" from webhooks h
      left join ${sql.unnest(known, ['text', 'int4', 'text'])} as k (webhook_id, count, after) on k.webhook_id = h.id
      where h.workspace_id = ${db.workspaceId} and h.is_active and coalesce(k.count, 0) < ${perWebhook}
    ), chosen as (
      select d.id from room r cross join lateral (
        select id from webhook_deliveries
        where workspace_id = ${db.workspaceId} and webhook_id = r.id and status = 'pending'
          and id >= r.after and ${inDays}
        order by id limit r.free for update skip locked
      ) d order by r.free desc limit ${limit}
    ), claimed as (
      update webhook_deliveries set status = 'sending', claimed_at = now()
      where workspace_id = ${db.workspaceId} and id = any(array(select id from chosen)) and ${inDays}
      returning id, webhook_id, event_id, event
    )
    select c.*, h.url, e.body, h.secret_sealed,
      case when h.previous_secret_until > now() then h.previous_secret_sealed end previous_secret_sealed
    from claimed c
    join webhooks h on h.workspace_id = ${db.workspaceId} and h.id = c.webhook_id
    cross join lateral (
      select body from events
      where workspace_id = ${db.workspaceId} and id = c.event_id
        and id >= ${from.slice(0, 8)} and id < ${until} -- made in the same second as the delivery
      offset 0
    ) e
    order by c.id`);
  return [...rows];
}

const ClaimedAtRow = z.object({ claimedAt: z.date().nullable() });

/** When the delivery that has been under way longest was claimed, whoever did. */
export async function oldestClaim(db: TenantDb): Promise<Date | null> {
  return db.oneFirst(sql.type(ClaimedAtRow)`
    select min(claimed_at) claimed_at from webhook_deliveries
    where workspace_id = ${db.workspaceId} and status = 'sending'`);
}

/** What came of one delivery. */
export interface DeliveryResult {
  id: string;
  success: boolean;
  responseStatus: number | null;
  error: string | null;
  latencyMs: number;
  attemptCount: number;
}

/** Records results, and counts them on their webhooks; one that was recorded before stays as it is. */
export async function finishDeliveries(db: TenantDb, results: readonly DeliveryResult[]): Promise<void> {
  if (results.length === 0) return;
  const ids = sql.array(
    results.map(({ id }) => id),
    'text',
  );
  // Webhooks first and in order, as deleting one does: otherwise two of these could wait for each other.
  await db.query(sql.type(NoRows)`
    select from webhooks where workspace_id = ${db.workspaceId} and id in (
      select webhook_id from webhook_deliveries where workspace_id = ${db.workspaceId} and id = any(${ids}))
    order by id for no key update`);
  const rows = results.map((result) => [
    result.id,
    result.success,
    result.responseStatus,
    result.error,
    result.latencyMs,
    result.attemptCount,
  ]);
  await db.query(sql.type(NoRows)`
    with finished as (
      update webhook_deliveries d set status = 'done', success = r.success, response_status = r.response_status,
        error = r.error, latency_ms = r.latency_ms, attempt_count = r.attempt_count
      from ${sql.unnest(rows, ['text', 'bool', 'int4', 'text', 'int4', 'int4'])}
        as r (id, success, response_status, error, latency_ms, attempt_count)
      where d.workspace_id = ${db.workspaceId} and d.id = r.id and d.status = 'sending'
        and d.id = any(${ids}) -- says which days they are of
      returning d.webhook_id, r.success
    )
    update webhooks h set failure_count = h.failure_count + f.failures,
      last_success_at = case when f.successes > 0 then now() else h.last_success_at end,
      last_failure_at = case when f.failures > 0 then now() else h.last_failure_at end
    from (
      select webhook_id, count(*) filter (where success) successes, count(*) filter (where not success) failures
      from finished group by webhook_id
    ) f
    where h.workspace_id = ${db.workspaceId} and h.id = f.webhook_id`);
}

/** Deliveries that a crash cut short: whether they arrived nobody knows, so they are failures and not sent again. */
export async function failInterrupted(db: TenantDb, olderThanMs: number): Promise<void> {
  const ids = await db.anyFirst(sql.type(IdRow)`
    select id from webhook_deliveries where workspace_id = ${db.workspaceId} and status = 'sending'
      and claimed_at < now() - make_interval(secs => ${olderThanMs / 1000})`);
  await finishDeliveries(
    db,
    ids.map((id) => ({
      id,
      success: false,
      responseStatus: null,
      error: 'interrupted',
      latencyMs: 0,
      attemptCount: 1,
    })),
  );
}
