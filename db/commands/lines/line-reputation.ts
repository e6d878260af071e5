import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { type DaySignals, daysBefore } from '#domain/lines/line-signals.ts';
import {
  judge,
  JUDGED_DAYS,
  type Judgement,
  ReputationPolicy,
  restsUntil,
} from '#domain/lines/reputation.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import type { MailSeal } from '#db/commands/events/mails.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { LineRow } from '#db/queries/lines/lines.ts';
import { findSignals } from '#db/queries/lines/line-signals.ts';
import { workspaceReputationPolicy } from '#db/queries/accounts/workspaces.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { notifyReputation } from './line-emails.ts';

/** How long a score is valid, so that a busy line is not scored with each message. */
const JUDGED_EVERY_MS = 60_000;

const isJudged = ({ reputationCheckedAt }: LineRow, now: Date): boolean =>
  reputationCheckedAt !== null && now.getTime() - reputationCheckedAt.getTime() < JUDGED_EVERY_MS;

/**
 * Scores a line, unless it was scored a moment ago, and emits the event of a change in the same transaction. Requires `lockLine`.
 * @returns the line as it is now.
 */
export async function judgeIfDue(
  db: TenantDb,
  line: LineRow,
  seal: Pick<MailSeal, 'seal'> | undefined,
  now: Date,
): Promise<LineRow> {
  if (isJudged(line, now)) return line;
  const policy = line.reputationPolicy ?? (await workspaceReputationPolicy(db));
  const signals = await findSignals(db, [line.id], daysBefore(now, JUDGED_DAYS - 1));
  return storeJudgement(db, line, signals.get(line.id) ?? [], { policy, seal }, now);
}

async function storeJudgement(
  db: TenantDb,
  line: LineRow,
  signals: readonly DaySignals[],
  { policy, seal }: { policy: ReputationPolicy; seal: Pick<MailSeal, 'seal'> | undefined },
  now: Date,
): Promise<LineRow> {
  const judgement = judge(line.channel, signals, now);
  const { state, score } = judgement;
  const isChanged = state !== line.reputationState;
  const judged: LineRow = {
    ...line,
    reputationState: state,
    reputationScore: score,
    reputationSince: isChanged || line.reputationSince === null ? now : line.reputationSince,
    reputationCheckedAt: now,
    reputationRestsUntil: restsUntil(line.channel, signals, now) ?? endOfRest(line, now),
  };
  const at = (time: Date | null) => (time === null ? sql.fragment`null` : sql.timestamp(time));
  // `updated_at` stays, because no setting changes.
  await db.query(sql.type(NoRows)`
    update lines set reputation_state = ${state}, reputation_score = ${score},
      reputation_since = ${at(judged.reputationSince)}, reputation_checked_at = ${sql.timestamp(now)},
      reputation_rests_until = ${at(judged.reputationRestsUntil)}
    where workspace_id = ${db.workspaceId} and id = ${line.id}`);
  if (isChanged && policy !== 'off') await tellOfChange(db, line, judgement, seal, now);
  return judged;
}

/** The end of a rest is stored, as the time until which it held messages. */
function endOfRest({ reputationRestsUntil: until }: LineRow, now: Date): Date | null {
  return until !== null && until > now ? now : until;
}

async function tellOfChange(
  db: TenantDb,
  line: LineRow,
  { state: to, score, terms }: Judgement,
  seal: Pick<MailSeal, 'seal'> | undefined,
  now: Date,
): Promise<void> {
  const { id: lineId, reputationState: from } = line;
  const payload = {
    event: 'line.reputation_changed' as const,
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    lineId,
    from,
    to,
    score,
    terms,
  };
  await emitEvents(db, [payload], now);
  if (seal && (to === 'at_risk' || to === 'critical')) {
    const reasons = terms.filter(({ points }) => points < 0).toSorted((a, b) => a.points - b.points);
    await notifyReputation(
      db,
      line,
      { state: to, score, reasons: reasons.slice(0, 3).map(({ text }) => text) },
      seal,
      now,
    );
  }
}

const DueRow = z.object({ workspaceId: z.string(), id: z.string() });

/** Active lines `l` that were not scored within the hour before `now`. */
const isDue = (now: FragmentSqlToken) => sql.fragment`
  l.is_active and l.provisioning_status = 'active'
    and (l.reputation_checked_at is null or l.reputation_checked_at < ${now} - interval '1 hour')`;

/** Active lines that were not scored within an hour by the clocks of their workspaces, those scored longest ago first. */
export async function linesToJudge(
  db: SystemDb,
  limit: number,
): Promise<readonly { workspaceId: string; id: string }[]> {
  const now = sql.fragment`(now() + coalesce(t.ahead_ms, 0) * interval '1 millisecond')`;
  return db.any(sql.type(DueRow)`
    select l.workspace_id, l.id from lines l left join test_clocks t on t.workspace_id = l.workspace_id
    where ${isDue(now)}
    order by l.reputation_checked_at nulls first limit ${limit}`);
}

/** Scores the lines of the workspace that were not scored within an hour. */
export async function judgeDueLines(db: TenantDb, seal: Pick<MailSeal, 'seal'>, now: Date): Promise<void> {
  const lineIds = await db.anyFirst(sql.type(IdRow)`
    select l.id from lines l where l.workspace_id = ${db.workspaceId} and ${isDue(sql.fragment`${sql.timestamp(now)}`)}`);
  await judgeLines(db, lineIds, seal, now);
}

/**
 * Scores lines of the workspace. Lines that are being planned are skipped, because their plans score them. Wakes the
 * pacers of lines whose state changed.
 */
export async function judgeLines(
  db: TenantDb,
  lineIds: readonly string[],
  seal: Pick<MailSeal, 'seal'>,
  now: Date,
): Promise<void> {
  const lines = await db.any(sql.type(JudgedLineRow)`
    select l.*, coalesce(l.reputation_policy, w.reputation_policy) policy
    from lines l join workspaces w on w.id = l.workspace_id
    where l.workspace_id = ${db.workspaceId} and l.id = any(${sql.array([...lineIds], 'text')})
    order by l.id for no key update of l skip locked`);
  const signals = await findSignals(
    db,
    lines.map(({ id }) => id),
    daysBefore(now, JUDGED_DAYS - 1),
  );
  for (const { policy, ...line } of lines) {
    const judged = await storeJudgement(db, line, signals.get(line.id) ?? [], { policy, seal }, now);
    if (judged.reputationState !== line.reputationState) wake(db, linePacerId(line.id), now, 'lineChanged');
  }
}

const JudgedLineRow = LineRow.extend({ policy: ReputationPolicy });

/** Lifts the effects of a line's reputation until a time; null ends the override. @returns false if there is no such line. */
export async function setOverride(
  db: TenantDb,
  lineId: string,
  override: { until: Date; reason: string } | null,
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update lines set reputation_override_until = ${override && sql.timestamp(override.until)},
      reputation_override_reason = ${override?.reason ?? null}
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
  return rowCount > 0;
}
