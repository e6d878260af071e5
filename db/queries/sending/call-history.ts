import { sql } from 'slonik';
import { z } from 'zod';
import type { LineHistory } from '#domain/sending/holds.ts';
import {
  type CallHistory,
  callHistoryOf,
  MAY_BE_RETURNED_MS,
  REFUSALS_TO_OPEN,
} from '#domain/sending/circuit.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { AttemptRow } from './attempts.ts';

/* What the attempts of a line, or of a message, say about its carrier: they are counted, and there are no counters. */

/** Attempts that were, or may have been, sent, and the calls that ended otherwise. Each has an index. */
const SENT = sql.fragment`(outcome is null or outcome in ('accepted', 'unknown'))`;
const NOT_SENT = sql.fragment`outcome in ('transient', 'not_sent', 'refused', 'unavailable')`;

const HistoryRow = z.object({
  sentToday: z.int(),
  newToday: z.int(),
  newThisHour: z.int(),
  lastSentAt: z.date().nullable(),
  firstAnswerBy: z.date().nullable(),
});

/** The last call for a line `line_id`, whatever came back: a line calls its carrier at most once a gap. */
export const lastCallAt = (
  workspaceId: string,
  lineId: ReturnType<typeof sql.fragment>,
) => sql.fragment`greatest(
  (select max(started_at) from attempts where workspace_id = ${workspaceId} and line_id = ${lineId} and kind = 'primary'
    and ${SENT}),
  (select max(started_at) from attempts where workspace_id = ${workspaceId} and line_id = ${lineId} and kind = 'primary'
    and ${NOT_SENT}))`;

/**
 * What the pacing rules need to know about a line: its sends of the current day and hour, counting those that may have
 * happened, and by when the first of its attempts without an outcome is answered; null: it has none.
 */
export async function lineHistory(
  db: TenantDb,
  lineId: string,
  since: { day: Date; hour: Date },
): Promise<LineHistory & { firstAnswerBy: Date | null }> {
  return db.one(sql.type(HistoryRow)`
    select count(*) sent_today, count(*) filter (where is_new) new_today,
      count(*) filter (where is_new and started_at >= ${sql.timestamp(since.hour)}) new_this_hour,
      ${lastCallAt(db.workspaceId, sql.fragment`${lineId}`)} last_sent_at,
      (select min(answer_by) from attempts where workspace_id = ${db.workspaceId} and line_id = ${lineId}
        and outcome is null) first_answer_by
    from attempts
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and started_at >= ${sql.timestamp(since.day)}
      and kind = 'primary' and (outcome is null or outcome in ('accepted', 'unknown'))`);
}

/** More calls than the rounds that open the circuit breaker can have made. */
const CALLS_LOOKED_AT = 200;

const RoundRow = z.object({
  lineId: z.string(),
  failed: z.boolean(),
  ofLine: z.boolean(),
  running: z.boolean(),
  isReturned: z.boolean(),
  endedAt: z.date(),
});

/**
 * From when calls of a line `l` say how its carrier fares. Those that blocked the line do as long as it is blocked, and a change of its
 * settings starts anew.
 */
const counted = (since: Date) => sql.fragment`
  greatest(least(${sql.timestamp(since)}, l.blocked_at - interval '1 day'), l.updated_at)`;

/** A call that nobody answered, nor the question what became of it, which may last as long. */
const unanswered = (now: Date) => sql.fragment`(outcome is null and answer_by <= ${sql.timestamp(now)})`;

/**
 * How the latest calls for each line ended. A call without an answer, even to its reconciliation, counts as failed, and says as much about
 * the line as an answer about it. A change of the line's settings starts the count again.
 * @param since a day is enough, for lines that are not blocked.
 */
export async function callHistories(
  db: TenantDb,
  lineIds: readonly string[],
  { since, now }: { since: Date; now: Date },
): Promise<Map<string, CallHistory>> {
  const latest = (condition: ReturnType<typeof sql.fragment>) => sql.fragment`(
    select started_at, finished_at, outcome, about, answer_by, carrier_message_id from attempts
    where workspace_id = ${db.workspaceId} and line_id = l.id and kind = 'primary' and ${condition}
      and started_at > ${counted(since)}
    order by started_at desc limit ${CALLS_LOOKED_AT})`;
  const rounds = await db.any(sql.type(RoundRow)`
    select l.id line_id, round.failed, round.of_line, round.running, round.is_returned, round.ended_at
    from ${sql.unnest(
      lineIds.map((id) => [id]),
      ['text'],
    )} as asked (id) cross join lateral (
      select id, updated_at, blocked_at from lines where workspace_id = ${db.workspaceId} and id = asked.id offset 0
    ) l cross join lateral (
      select bool_and(outcome is null or outcome in ('transient', 'not_sent', 'unknown') or about is not distinct from 'line') failed,
        bool_or(about is not distinct from 'line') or bool_and(${unanswered(now)}) of_line,
        bool_or(outcome is null and answer_by > ${sql.timestamp(now)}) running,
        bool_or(outcome is not distinct from 'transient' and carrier_message_id is not null) is_returned,
        max(case when ${unanswered(now)} then answer_by + (answer_by - started_at) else coalesce(finished_at, started_at) end) ended_at,
        started_at
      from (${latest(SENT)} union all ${latest(NOT_SENT)}) calls
      group by started_at order by started_at desc limit 20
    ) round
    order by l.id, round.started_at desc`);
  const byLine = Map.groupBy(rounds, ({ lineId }) => lineId);
  return new Map(lineIds.map((lineId) => [lineId, callHistoryOf(byLine.get(lineId) ?? [], now)]));
}

const CountRow = z.object({ count: z.int() });

/**
 * How many different recipients the carrier of a line has refused since it last accepted a message, and since the line's
 * settings changed; at most as many as open the circuit, and one more.
 * @param since a day is enough, for a line that is not blocked.
 */
export async function refusedInARow(db: TenantDb, lineId: string, since: Date): Promise<number> {
  return db.oneFirst(sql.type(CountRow)`
    select count(*) from (
      select distinct a.address from attempts a
      where a.workspace_id = ${db.workspaceId} and a.line_id = ${lineId} and a.kind = 'primary' and a.outcome = 'refused'
        and a.about is distinct from 'recipient'
        and a.started_at > greatest(
          (select ${counted(since)} from lines l where l.workspace_id = ${db.workspaceId} and l.id = ${lineId}),
          (select max(s.started_at) from attempts s where s.workspace_id = ${db.workspaceId} and s.line_id = ${lineId}
            and s.kind = 'primary' and ${SENT} and s.outcome = 'accepted'))
      limit ${REFUSALS_TO_OPEN + 1}) refused`);
}

const NO_ANSWER = 'the carrier did not answer';
/** Enough to find the last of them while a line fails: its calls since wait for its pause. */
const UNANSWERED_AMONG = 20;

/** The last failed call of a line: its id and the carrier's reason. */
export const lastFailedCall = (workspaceId: string, lineId: string, now: Date) => sql.fragment`
  select id, reason from (
    (select id, started_at, reason from attempts
      where workspace_id = ${workspaceId} and line_id = ${lineId} and kind = 'primary'
        and (outcome in ('transient', 'not_sent') or outcome = 'refused' and about = 'line')
      order by started_at desc limit 1)
    union all
    (select id, started_at, coalesce(reason, ${NO_ANSWER}) from (
        select id, started_at, outcome, answer_by, about, reason from attempts
        where workspace_id = ${workspaceId} and line_id = ${lineId} and kind = 'primary' and ${SENT}
        order by started_at desc limit ${UNANSWERED_AMONG}) latest
      where ${unanswered(now)} or outcome is null and about = 'line' order by started_at desc limit 1)
  ) failed order by started_at desc limit 1`;

const FailedCallRow = z.object({ id: z.string(), reason: z.string().nullable() });

/** The carrier's reason for the last failed call of a line. */
export async function lastFailure(db: TenantDb, lineId: string, now: Date): Promise<string | null> {
  const call = await db.maybeOne(sql.type(FailedCallRow)`${lastFailedCall(db.workspaceId, lineId, now)}`);
  return call?.reason ?? null;
}

/** Why the call of a hold failed, as far as it has not been found out since what became of it. */
export const failureOfCall = (attempt: ReturnType<typeof sql.fragment>) =>
  sql.fragment`case when ${attempt}.outcome is null and ${attempt}.id is not null then coalesce(${attempt}.reason, ${NO_ANSWER}) else ${attempt}.reason end`;

const RefusedAlone = z.object({ count: z.int(), firstAt: z.date().nullable() });
export type RefusedAlone = z.infer<typeof RefusedAlone>;

/**
 * How often, and since when, the answer to a message was about its line, although its carrier has accepted others of that line since the
 * first time.
 */
export async function refusedAlone(
  db: TenantDb,
  { id, lineId }: { id: string; lineId: string | null },
): Promise<RefusedAlone> {
  const own = sql.fragment`workspace_id = ${db.workspaceId} and message_id = ${id} and kind <> 'fallback'
    and outcome = 'transient' and about = 'line'`;
  return db.one(sql.type(RefusedAlone)`
    select count(*) count, min(started_at) first_at from attempts
    where ${own} and started_at > (
      select min(started_at) from attempts
      where workspace_id = ${db.workspaceId} and line_id = ${lineId} and kind = 'primary' and ${SENT} and outcome = 'accepted'
        and started_at > (select min(started_at) from attempts where ${own}))`);
}

const FallbackFailuresRow = z.object({
  /** Its attempts so far. */
  count: z.number(),
  firstAt: z.date(),
  /** Whether the workspace's SMS account has accepted an SMS since the first attempt. */
  acceptsOthers: z.boolean(),
});

/** What is known about a fallback SMS that has failed at least once. */
export async function fallbackFailures(
  db: TenantDb,
  messageId: string,
): Promise<z.infer<typeof FallbackFailuresRow>> {
  return db.one(sql.type(FallbackFailuresRow)`
    select own.count, own.first_at, exists (
        select from attempts a where a.workspace_id = ${db.workspaceId} and a.kind = 'fallback' and a.outcome = 'accepted'
          and a.started_at > own.first_at) accepts_others
    from (
      select count(*) count, min(started_at) first_at from attempts
      where workspace_id = ${db.workspaceId} and message_id = ${messageId} and kind = 'fallback'
    ) own`);
}

const ExistsRow = z.object({ exists: z.boolean() });

/** Whether a line's carrier has returned the message before, and has since accepted a message to another address that it did not return. */
export async function keptOthersSince(
  db: TenantDb,
  { lineId, messageId, address }: Pick<AttemptRow, 'lineId' | 'messageId' | 'address'>,
  now: Date,
): Promise<boolean> {
  const settled = new Date(now.getTime() - MAY_BE_RETURNED_MS);
  return db.oneFirst(sql.type(ExistsRow)`
    select exists (
      select from attempts where workspace_id = ${db.workspaceId} and line_id = ${lineId} and kind = 'primary'
        and ${SENT} and outcome = 'accepted' and address <> ${address} and finished_at < ${sql.timestamp(settled)}
        and started_at > (
          select min(started_at) from attempts where workspace_id = ${db.workspaceId} and message_id = ${messageId}
            and outcome = 'transient' and carrier_message_id is not null)) exists`);
}
