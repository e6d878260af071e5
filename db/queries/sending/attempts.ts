import { sql } from 'slonik';
import { z } from 'zod';
import { Channel } from '#domain/base/channel.ts';
import { realTime } from '#domain/base/clock.ts';
import { firstId } from '#domain/base/ids.ts';
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

const AtRow = z.object({ at: z.date() });

export async function firstAttemptAt(db: TenantDb, messageId: string): Promise<Date> {
  return db.oneFirst(sql.type(AtRow)`
    select min(started_at) at from attempts where workspace_id = ${db.workspaceId} and message_id = ${messageId}`);
}
