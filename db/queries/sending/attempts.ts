import { sql } from 'slonik';
import { z } from 'zod';
import { Channel } from '#domain/base/channel.ts';
import { realTime } from '#domain/base/clock.ts';
import { firstId } from '#domain/base/ids.ts';
import type { LineHistory } from '#domain/sending/holds.ts';
import {
  type CallHistory,
  callHistoryOf,
  MAY_BE_RETURNED_MS,
  REFUSALS_TO_OPEN,
} from '#domain/sending/circuit.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { recordset, ROWS_INSERTED } from '#db/connection/recordset.ts';

export const AttemptRow = z.object({
  id: z.string(),
  messageId: z.string(),
  lineId: z.string(),
  /** `bubble`: of a text that follows another of the same message. It counts in no cap. */
  kind: z.enum(['primary', 'fallback', 'bubble']),
  channel: Channel,
  carrier: z.string(),
  address: z.string(),
  isNew: z.boolean(),
  contactLastSentAt: z.date().nullable(),
  startedAt: z.date(),
  answerBy: z.date(),
});
export type AttemptRow = z.infer<typeof AttemptRow>;

export const AttemptOutcome = z.enum([
  'accepted',
  'unavailable',
  'refused',
  'transient',
  'unknown',
  'not_sent',
  'unsendable',
]);
export type AttemptOutcome = z.infer<typeof AttemptOutcome>;

/** Committed before the carrier is called, so that every send that may have happened is known after a crash. */
export async function insertAttempts(db: TenantDb, attempts: readonly AttemptRow[]): Promise<void> {
  if (attempts.length === 0) return;
  const rows = attempts.map((attempt) => ({ ...attempt, workspaceId: db.workspaceId }));
  await db.query(sql.type(NoRows)`
    insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new,
      contact_last_sent_at, started_at, answer_by)
    select r.workspace_id, r.id, r.message_id, r.line_id, r.kind, r.channel, r.carrier, r.address, r.is_new,
      r.contact_last_sent_at, r.started_at, r.answer_by
    from ${recordset('attempts', rows)} r
    ${ROWS_INSERTED}`);
}

/** @returns false if the attempt already has an outcome. */
export async function finishAttempt(
  db: TenantDb,
  id: string,
  {
    outcome,
    reason,
    about,
    carrierMessageId,
    now,
  }: {
    outcome: AttemptOutcome;
    reason?: string | undefined;
    about?: 'line' | 'recipient' | undefined;
    carrierMessageId?: string | undefined;
    now: Date;
  },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update attempts set outcome = ${outcome}, reason = ${reason ?? null}, about = ${about ?? null},
      carrier_message_id = ${carrierMessageId ?? null}, finished_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${id} and outcome is null`);
  return rowCount > 0;
}

/** An open attempt was answered by somebody else than its carrier, which is asked what became of it. */
export async function markAnsweredElsewhere(db: TenantDb, id: string, reason: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update attempts set about = 'line', reason = ${reason}
    where workspace_id = ${db.workspaceId} and id = ${id} and outcome is null`);
}

/** The answer to an attempt is about its line, not about its recipient. */
export async function markOfLine(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update attempts set about = 'line' where workspace_id = ${db.workspaceId} and id = ${id}`);
}

/**
 * Corrects an accepted attempt: its carrier reports that it did not send the message, because of the line.
 * @returns the attempt; null if it had another outcome.
 */
export async function takeBack(
  db: TenantDb,
  id: string,
  reason: string,
  now: Date,
): Promise<AttemptRow | null> {
  return db.maybeOne(sql.type(AttemptRow)`
    update attempts set outcome = 'transient', about = 'line', reason = ${reason}, finished_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${id} and outcome = 'accepted'
    returning *`);
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

/** The carrier's id of an accepted message, and the time of its acceptance. */
export interface Accepted {
  id: string;
  carrierMessageId: string;
  at: Date;
}

/** An attempt that is now accepted, with its former outcome. */
const LateRow = z.object({ id: z.string(), settledAs: AttemptOutcome });
/** Null: it had none. */
const NowAcceptedRow = LateRow.extend({ settledAs: AttemptOutcome.nullable() });

/**
 * Attempts are looked up one by one, in one order: joined to the list, the planner may read all of a workspace that statistics
 * take for small.
 * @param which of the attempts, by `outcome`.
 */
function accept<Row>(
  db: TenantDb,
  row: z.ZodType<Row>,
  accepted: readonly Accepted[],
  which: ReturnType<typeof sql.fragment>,
): Promise<readonly Row[]> {
  const rows = accepted
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, carrierMessageId, at }) => [id, carrierMessageId, at.toISOString()]);
  return db.any(sql.type(row)`
    with locked as materialized (
      select a.id, a.outcome, r.carrier_message_id, r.at
      from ${sql.unnest(rows, ['text', 'text', 'timestamptz'])} as r (id, carrier_message_id, at)
      cross join lateral (
        select id, outcome from attempts where workspace_id = ${db.workspaceId} and id = r.id offset 0 for no key update
      ) a
      where a.outcome ${which}
    )
    update attempts a set outcome = 'accepted', carrier_message_id = locked.carrier_message_id,
      finished_at = coalesce(a.finished_at, locked.at), about = null,
      reason = case when locked.outcome is not null then 'accepted_late' end
    from locked where a.workspace_id = ${db.workspaceId} and a.id = locked.id
    returning a.id, locked.outcome settled_as`);
}

/**
 * Like `finishAttempt` with `accepted`, for many attempts. Corrects those that had another outcome, like `acceptLate`.
 * @returns all but those that were accepted before.
 */
export const finishAccepted = (
  db: TenantDb,
  accepted: readonly Accepted[],
): Promise<readonly z.infer<typeof NowAcceptedRow>[]> =>
  accept(db, NowAcceptedRow, accepted, sql.fragment`is distinct from 'accepted'`);

/**
 * Corrects attempts whose acceptance a carrier reports late, so that they count and their receipts are found.
 * @returns the corrected attempts. Attempts without an outcome, and accepted ones, do not change.
 */
export const acceptLate = (
  db: TenantDb,
  accepted: readonly Accepted[],
): Promise<readonly z.infer<typeof LateRow>[]> => accept(db, LateRow, accepted, sql.fragment`<> 'accepted'`);

const OpenAttempt = AttemptRow.extend({
  about: z.enum(['line', 'recipient']).nullable(),
  reason: z.string().nullable(),
});
export type OpenAttempt = z.infer<typeof OpenAttempt>;

/** The attempts of a line without an outcome: in progress, or interrupted by a crash. */
export async function openAttempts(db: TenantDb, lineId: string): Promise<OpenAttempt[]> {
  const rows = await db.any(sql.type(OpenAttempt)`
    select * from attempts where workspace_id = ${db.workspaceId} and line_id = ${lineId} and outcome is null
    order by started_at`);
  return [...rows];
}

const AnswerRow = z.object({ messageId: z.string(), answerBy: z.date() });

/** By when carriers answer the attempts of messages that have no outcome yet, by message. */
export async function answersDue(
  db: TenantDb,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  if (messageIds.length === 0) return new Map();
  const rows = await db.any(sql.type(AnswerRow)`
    select message_id, max(answer_by) answer_by from attempts
    where workspace_id = ${db.workspaceId} and message_id = any(${sql.array([...messageIds], 'text')})
      and outcome is null
    group by message_id`);
  return new Map(rows.map(({ messageId, answerBy }) => [messageId, answerBy]));
}

const OpenRow = z.object({ isOpen: z.boolean() });

/** Whether a message has an attempt without an outcome, on any line. */
export async function hasOpenAttempt(db: TenantDb, messageId: string): Promise<boolean> {
  return db.oneFirst(sql.type(OpenRow)`
    select exists (select from attempts
      where workspace_id = ${db.workspaceId} and message_id = ${messageId} and outcome is null) is_open`);
}

const CarrierMessageIdRow = z.object({ carrierMessageId: z.string() });

/** Longer than a send can take, plus a margin because clocks differ. */
const EARLIER_MS = 2 * 3_600_000;

/**
 * The carriers' ids of messages sent to an address, from shortly before a time, whatever their line: lines can share an account.
 */
export async function carrierIdsAt(db: TenantDb, address: string, from: Date): Promise<string[]> {
  // Ids have the real time, attempts that of the workspace, which is later in test mode.
  const firstOne = firstId(new Date(Math.min(from.getTime(), realTime().getTime()) - EARLIER_MS));
  const ids = await db.anyFirst(sql.type(CarrierMessageIdRow)`
    select carrier_message_id from attempts
    where workspace_id = ${db.workspaceId} and id >= ${firstOne} and address = ${address}
      and carrier_message_id is not null`);
  return [...ids];
}

const HistoryRow = z.object({
  sentToday: z.int(),
  newToday: z.int(),
  newThisHour: z.int(),
  lastSentAt: z.date().nullable(),
  firstAnswerBy: z.date().nullable(),
});

/** Attempts that were, or may have been, sent, and the calls that ended otherwise. Each has an index. */
const SENT = sql.fragment`(outcome is null or outcome in ('accepted', 'unknown'))`;
const NOT_SENT = sql.fragment`outcome in ('transient', 'not_sent', 'refused', 'unavailable')`;

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

const AtRow = z.object({ at: z.date() });

export async function firstAttemptAt(db: TenantDb, messageId: string): Promise<Date> {
  return db.oneFirst(sql.type(AtRow)`
    select min(started_at) at from attempts where workspace_id = ${db.workspaceId} and message_id = ${messageId}`);
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
