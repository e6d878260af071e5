import { sql } from 'slonik';
import { z } from 'zod';
import { realFromNow } from '#domain/base/clock.ts';
import { DeliveredEvent, ERASED_BODY } from '#domain/events/event.ts';
import { Retries } from '#domain/events/webhook.ts';
import type { FailedAttempt } from '#domain/events/webhook-retries.ts';
import { FIRST_LIMIT } from '#domain/events/delivery-limit.ts';
import { firstId } from '#domain/base/ids.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { DELIVERS } from './webhooks.ts';

/** A claimed delivery, with everything needed to send it. */
export const StartedDelivery = z.object({
  id: z.string(),
  webhookId: z.string(),
  eventId: z.string(),
  event: DeliveredEvent,
  url: z.string(),
  /** null: its contact was erased. */
  body: z.string().nullable(),
  /** Before this attempt. */
  attemptCount: z.int(),
  isReplayOf: z.string().nullable(),
  retries: Retries,
  secretSealed: z.string(),
  previousSecretSealed: z.string().nullable(),
  createdAt: z.date(),
  claimedAt: z.date(),
});
export type StartedDelivery = z.infer<typeof StartedDelivery>;

/**
 * The position of a dispatcher. Claims that start from the oldest delivery each time would read all index entries of
 * finished deliveries that cannot be vacuumed yet because of an older transaction.
 */
export interface DispatcherPosition {
  /** No earlier delivery was pending when the claims started. */
  readonly from: string;
  /** The last delivery claimed, by webhook. */
  readonly last: Map<string, string>;
}

/** A delivery becomes visible when its transaction commits, within this time. */
const STRAGGLER_MS = 5000;
/** The largest difference between clocks. */
const AHEAD_MS = 3_600_000;

const earlier = (a: string, b: string): string => (a < b ? a : b);

/** Deliveries of the last day are always looked at, so that a transaction cannot commit earlier ones unnoticed. */
const ALWAYS_LOOKED_AT_MS = 24 * 3_600_000;

/** The ids from `from` on. As constants, they keep PostgreSQL from opening the partitions of other days. */
const inDaysFrom = (from: string, id = sql.fragment`id`) =>
  sql.fragment`${id} >= ${from} and ${id} < ${firstId(realFromNow(AHEAD_MS))}`;

/**
 * The id before which no delivery of the workspace is pending or in progress. Looks into the partitions of all days. It stays true:
 * new deliveries have later ids.
 */
export async function openFrom(db: TenantDb): Promise<string> {
  const oldest = await db.oneFirst(sql.type(LastIdRow)`
    select min(d.id) id from webhooks h cross join lateral (
      select id from webhook_deliveries
      where workspace_id = ${db.workspaceId} and webhook_id = h.id and status <> 'done'
      order by id limit 1
    ) d
    where h.workspace_id = ${db.workspaceId}`);
  const recent = firstId(realFromNow(-ALWAYS_LOOKED_AT_MS));
  return earlier(oldest ?? recent, recent);
}

const ChangedAtRow = z.object({ changedAt: z.string().nullable() });

/** When a webhook of the workspace was last changed, to the microsecond. */
export async function webhooksChangedAt(db: TenantDb): Promise<string | null> {
  return db.oneFirst(sql.type(ChangedAtRow)`
    select max(updated_at)::text changed_at from webhooks where workspace_id = ${db.workspaceId}`);
}

/** The oldest delivery that is attempted again now; null: none. It may be older than `openFrom`. */
export async function oldestQueuedRetry(db: TenantDb): Promise<string | null> {
  return db.oneFirst(sql.type(LastIdRow)`
    select min(delivery_id) id from webhook_retries where workspace_id = ${db.workspaceId} and is_queued`);
}

/**
 * Starts from the oldest delivery, which finds late commits and the deliveries of reactivated webhooks.
 * @param open see `openFrom`.
 */
export async function beginDispatch(db: TenantDb, open: string): Promise<DispatcherPosition> {
  const recent = firstId(realFromNow(-STRAGGLER_MS));
  return { from: earlier((await oldestPending(db, open)) ?? recent, recent), last: new Map() };
}

/** The id from which on the deliveries of today exceed a number; null: they do not. The day is one in UTC. */
export async function firstBeyond(db: TenantDb, perDay: number, now: Date): Promise<string | null> {
  const today = firstId(new Date(now.toISOString().slice(0, 10)));
  return db.maybeOneFirst(sql.type(IdRow)`
    select id from webhook_deliveries where workspace_id = ${db.workspaceId} and ${inDaysFrom(today)}
    order by id offset ${perDay} limit 1`);
}

const LastIdRow = z.object({ id: z.string().nullable() });

/**
 * The oldest pending delivery of an active webhook; null if there is none.
 * @param open see `openFrom`; default: from the first day.
 */
export async function oldestPending(db: TenantDb, open = ''): Promise<string | null> {
  return db.oneFirst(sql.type(LastIdRow)`
    select min(d.id) id from webhooks h cross join lateral (
      select id from webhook_deliveries
      where workspace_id = ${db.workspaceId} and webhook_id = h.id and status = 'pending' and ${inDaysFrom(open)}
      order by id limit 1
    ) d
    where h.workspace_id = ${db.workspaceId} and ${DELIVERS}`);
}

/**
 * Claims the oldest pending deliveries of each webhook, up to its limit, so that a slow endpoint delays only its own. The
 * webhooks with the fewest in progress come first. The claim is committed before the first byte is sent, so that nothing
 * is sent twice.
 * @param options.limits the maximum number of deliveries in progress, by webhook; of others `FIRST_LIMIT`.
 * @param options.busy the number of deliveries in progress, by webhook.
 */
export async function claimDeliveries(
  db: TenantDb,
  {
    claims: { from, last },
    limits,
    busy,
    limit,
  }: {
    claims: DispatcherPosition;
    limits: ReadonlyMap<string, number>;
    busy: ReadonlyMap<string, number>;
    limit: number;
  },
): Promise<StartedDelivery[]> {
  const recent = firstId(realFromNow(-STRAGGLER_MS));
  const known = [...new Set([...busy.keys(), ...last.keys(), ...limits.keys()])].map((webhookId) => [
    webhookId,
    busy.get(webhookId) ?? 0,
    limits.get(webhookId) ?? FIRST_LIMIT,
    earlier(last.get(webhookId) ?? from, recent),
  ]);
  // The planner has no statistics for a day that has just begun; `materialized` and `offset 0` force it to use the primary
  // keys.
  const until = firstId(realFromNow(AHEAD_MS));
  const inDays = inDaysFrom(from);
  const rows = await db.any(sql.type(StartedDelivery)`
    with room as materialized (
      select h.id, coalesce(k.count, 0) busy, coalesce(k.limit - k.count, ${FIRST_LIMIT}) free, coalesce(k.after, ${from}) "after"
      from webhooks h
      left join ${sql.unnest(known, ['text', 'int4', 'int4', 'text'])} as k (webhook_id, count, "limit", after) on k.webhook_id = h.id
      where h.workspace_id = ${db.workspaceId} and ${DELIVERS} and coalesce(k.limit > k.count, true)
    ), chosen as (
      select d.id from room r cross join lateral (
        select id from webhook_deliveries
        where workspace_id = ${db.workspaceId} and webhook_id = r.id and status = 'pending'
          and id >= r.after and ${inDays}
        order by id limit r.free for update skip locked
      ) d order by r.busy limit ${limit}
    ), claimed as (
      update webhook_deliveries set status = 'sending', claimed_at = now()
      where workspace_id = ${db.workspaceId} and id = any(array(select id from chosen)) and ${inDays}
      returning id, webhook_id, event_id, event, attempt_count, is_replay_of, created_at, claimed_at
    )
    select c.*, h.url, e.body, h.secret_sealed, h.retries,
      case when h.previous_secret_until > now() then h.previous_secret_sealed end previous_secret_sealed
    from claimed c
    join webhooks h on h.workspace_id = ${db.workspaceId} and h.id = c.webhook_id
    left join lateral (
      select body from events
      where workspace_id = ${db.workspaceId} and id = c.event_id
        and id >= ${from.slice(0, 8)} and id < ${until} -- made in the same second as the delivery
      offset 0
    ) e on true
    order by c.id`);
  return withBodies(db, rows);
}

const BodyRow = z.object({ id: z.string(), body: z.string() });

/** Reads the bodies of replayed events, which are of any day. */
async function withBodies(db: TenantDb, rows: readonly StartedDelivery[]): Promise<StartedDelivery[]> {
  const older = [...new Set(rows.filter(({ body }) => body === null).map(({ eventId }) => eventId))];
  const found =
    older.length === 0
      ? []
      : await db.any(sql.type(BodyRow)`
          select id, body from events where workspace_id = ${db.workspaceId} and id = any(${sql.array(older, 'text')})`);
  const bodies = new Map(found.map(({ id, body }) => [id, body]));
  return rows.map((row) => {
    const body = row.body ?? bodies.get(row.eventId) ?? null;
    return { ...row, body: body === ERASED_BODY ? null : body };
  });
}

/** Returns a claimed delivery, of which nothing was sent, to the queue, unless others have given it up. */
export async function releaseDelivery(
  db: TenantDb,
  { id, attemptCount }: Pick<StartedDelivery, 'id' | 'attemptCount'>,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update webhook_deliveries set status = 'pending', claimed_at = null
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'sending' and attempt_count = ${attemptCount}`);
}

const ClaimedAtRow = z.object({ claimedAt: z.date().nullable() });

/** When the oldest claimed delivery was claimed, by any process; null if there is none. @param open see `openFrom`. */
export async function oldestClaim(db: TenantDb, open: string): Promise<Date | null> {
  return db.oneFirst(sql.type(ClaimedAtRow)`
    select min(claimed_at) claimed_at from webhook_deliveries
    where workspace_id = ${db.workspaceId} and status = 'sending' and ${inDaysFrom(open)}`);
}

/** The result of one delivery. */
export interface DeliveryResult {
  id: string;
  success: boolean;
  responseStatus: number | null;
  error: string | null;
  latencyMs: number;
  attemptCount: number;
  /** The stored part of the endpoint's response; null: nothing. */
  responseBody: string | null;
  /** Present if its webhook retries. */
  retry?: { webhookId: string } & Pick<FailedAttempt, 'blocked' | 'retryAfter'>;
}

/** A webhook that only succeeds is written once a second. */
const SUCCESS_IS_RECENT = sql.fragment`(h.last_success_at > now() - interval '1 second'
  and (h.last_failure_at is null or h.last_failure_at < now() - interval '1 minute'))`;

/** Records results and counts them on their webhooks. Ignores the result of an attempt that others have given up. */
export async function finishDeliveries(db: TenantDb, results: readonly DeliveryResult[]): Promise<void> {
  if (results.length === 0) return;
  const idsOf = (some: readonly DeliveryResult[]) =>
    sql.array(
      some.map(({ id }) => id),
      'text',
    );
  const ids = idsOf(results);
  const failed = idsOf(results.filter(({ success }) => !success));
  // Webhooks are locked first and in order, as when one is deleted, so that two transactions do not deadlock.
  await db.query(sql.type(NoRows)`
    select from webhooks h join (
      select webhook_id, bool_or(id = any(${failed})) failed from webhook_deliveries
      where workspace_id = ${db.workspaceId} and id = any(${ids}) group by webhook_id
    ) d on d.webhook_id = h.id
    where h.workspace_id = ${db.workspaceId} and (d.failed or ${SUCCESS_IS_RECENT} is not true)
    order by h.id for no key update of h`);
  const kept = await lockAnswered(db, results);
  const rows = results.map((result) => [
    result.id,
    result.success,
    result.responseStatus,
    result.error,
    result.latencyMs,
    result.attemptCount,
    kept.has(result.id) ? result.responseBody : null,
  ]);
  await db.query(sql.type(NoRows)`
    with finished as (
      update webhook_deliveries d set status = 'done', success = r.success, response_status = r.response_status,
        error = r.error, latency_ms = r.latency_ms, attempt_count = r.attempt_count, response_body = r.response_body
      from ${sql.unnest(rows, ['text', 'bool', 'int4', 'text', 'int4', 'int4', 'text'])}
        as r (id, success, response_status, error, latency_ms, attempt_count, response_body)
      where d.workspace_id = ${db.workspaceId} and d.id = r.id and d.status = 'sending' and d.attempt_count < r.attempt_count
        and d.id = any(${ids}) -- says which days they are of
      returning d.webhook_id, r.success
    )
    update webhooks h set failure_count = h.failure_count + f.failures,
      last_success_at = case when f.successes > 0 then f.at else h.last_success_at end,
      last_failure_at = case when f.failures > 0 then f.at else h.last_failure_at end
    from (
      select webhook_id, now() "at", count(*) filter (where success) successes, count(*) filter (where not success) failures
      from finished group by webhook_id
    ) f
    where h.workspace_id = ${db.workspaceId} and h.id = f.webhook_id
      and (f.failures > 0 or ${SUCCESS_IS_RECENT} is not true)`);
}

/**
 * Locks the events of the deliveries that were answered, because an answer may name the contact, whom their erasure removes from
 * the event first.
 * @returns the deliveries whose event still names them: their answers are kept.
 */
async function lockAnswered(db: TenantDb, results: readonly DeliveryResult[]): Promise<ReadonlySet<string>> {
  const answered = results.filter(({ responseBody }) => responseBody !== null);
  if (answered.length === 0) return new Set();
  const ids = await db.anyFirst(sql.type(IdRow)`
    select d.id from events e join webhook_deliveries d on d.workspace_id = e.workspace_id and d.event_id = e.id
    where d.workspace_id = ${db.workspaceId} and d.id = any(${sql.array(
      answered.map(({ id }) => id),
      'text',
    )}) and e.body <> ${ERASED_BODY} order by e.id for share of e`);
  return new Set(ids);
}

const InterruptedRow = z.object({
  id: z.string(),
  webhookId: z.string(),
  attemptCount: z.int(),
  retries: Retries,
});

/**
 * Fails deliveries that a crash interrupted. They may have arrived, so only webhooks that retry get them again.
 * @param open see `openFrom`.
 */
export async function failInterrupted(
  db: TenantDb,
  olderThanMs: number,
  open: string,
): Promise<readonly DeliveryResult[]> {
  const interrupted = await db.any(sql.type(InterruptedRow)`
    select d.id, d.webhook_id, d.attempt_count, coalesce(h.retries, 'none') retries
    from webhook_deliveries d left join webhooks h on h.workspace_id = d.workspace_id and h.id = d.webhook_id
    where d.workspace_id = ${db.workspaceId} and d.status = 'sending' and ${inDaysFrom(open, sql.fragment`d.id`)}
      and d.claimed_at < now() - make_interval(secs => ${olderThanMs / 1000})`);
  const results = interrupted.map(({ id, webhookId, attemptCount, retries }) => ({
    id,
    success: false,
    responseStatus: null,
    error: 'interrupted',
    latencyMs: 0,
    attemptCount: attemptCount + 1,
    responseBody: null,
    ...(retries === 'standard' && { retry: { webhookId, blocked: false, retryAfter: null } }),
  }));
  await finishDeliveries(db, results);
  return results;
}
