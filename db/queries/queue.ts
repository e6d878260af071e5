import { sql } from 'slonik';
import { z } from 'zod';
import type { QueuedMessage } from '#domain/pacing.ts';
import { AtRow, IdRow, NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';

const QueueRow = z.object({
  id: z.string(),
  address: z.string(),
  scheduledAt: z.date(),
  arrival: z.int(),
  isNew: z.boolean(),
  isAnswer: z.boolean(),
  optedOut: z.boolean(),
  contactLastSentAt: z.date().nullable(),
  windowTimezone: z.string().nullable(),
  windowStart: z.string().nullable(),
  windowEnd: z.string().nullable(),
  windowDays: z.array(z.int()).nullable(),
});

/**
 * A message of a campaign leaves while its campaign runs: pausing changes one row, and every message keeps its place.
 * Not correlated, so the campaigns are looked up once and not for each message.
 */
export const campaignAllowsSending = (
  db: TenantDb,
) => sql.fragment`(m.campaign_id is null or m.campaign_id in (
  select id from campaigns where workspace_id = ${db.workspaceId} and status = 'active'))`;

/**
 * The messages of a line that are due, answers first, then by scheduled time, then by arrival, with what the
 * pacing rules ask of each. Later steps (`held`) and campaigns that do not run are passed over. Two index ranges
 * instead of one sort of all that waits.
 * @param urgent ids of messages that go before all others.
 */
export async function dueMessages(
  db: TenantDb,
  lineId: string,
  now: Date,
  limit: number,
  urgent: readonly string[] = [],
): Promise<QueuedMessage[]> {
  const waiting = sql.fragment`not m.force_fallback and m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId}
    and m.status in ('pending', 'scheduled') and not m.held and ${campaignAllowsSending(db)} and m.scheduled_at <= ${sql.timestamp(now)}`;
  const ids = sql.array([...urgent], 'text');
  const first = sql.fragment`
    select m.*, coalesce(m.answers_until > ${sql.timestamp(now)}, false) is_answer from messages m
    where ${waiting} and m.id = any(${ids}) union all`;
  const others = urgent.length > 0 ? sql.fragment`${waiting} and m.id <> all(${ids})` : waiting;
  const rows = await db.any(sql.type(QueueRow)`
    with due as (
      ${urgent.length > 0 ? first : sql.fragment``}
      (select m.*, true is_answer from messages m where ${others} and m.answers_until > ${sql.timestamp(now)}
        order by m.scheduled_at, m.arrival limit ${limit})
      union all
      (select m.*, false is_answer from messages m where ${others}
        and (m.answers_until is null or m.answers_until <= ${sql.timestamp(now)})
        order by m.scheduled_at, m.arrival limit ${limit})
    )
    select d.id, d.address, d.scheduled_at, d.arrival, d.is_answer,
      lc.address is null and not d.is_answer is_new, o.address is not null opted_out,
      c.last_outbound_at contact_last_sent_at, d.window_timezone, d.window_start, d.window_end, d.window_days
    from due d
    left join line_contacts lc on lc.workspace_id = d.workspace_id and lc.line_id = d.line_id and lc.address = d.address
    left join opt_outs o on o.workspace_id = d.workspace_id and o.address = d.address
    left join conversations c on c.workspace_id = d.workspace_id and c.address = d.address
    order by d.id = any(${ids}) desc, d.is_answer desc, d.scheduled_at, d.arrival
    limit ${limit}`);
  return rows.map(({ windowTimezone, windowStart, windowEnd, windowDays, ...row }) => ({
    ...row,
    ...(urgent.includes(row.id) && { isUrgent: true }),
    ...(windowTimezone !== null && {
      window: {
        timezone: windowTimezone,
        ...(windowStart !== null && { start: windowStart }),
        ...(windowEnd !== null && { end: windowEnd }),
        ...(windowDays !== null && { days: windowDays }),
      },
    }),
  }));
}

/** When the next message of a line falls due, or the next one after a time; null when none waits. */
export async function nextDueAt(db: TenantDb, lineId: string, after?: Date): Promise<Date | null> {
  return db.oneFirst(sql.type(AtRow)`
    select min(m.scheduled_at) "at" from messages m
    where m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId} and m.status in ('pending', 'scheduled')
      and not m.held and ${campaignAllowsSending(db)} ${after ? sql.fragment`and m.scheduled_at > ${sql.timestamp(after)}` : sql.fragment``}`);
}

/** Messages that go out as SMS at once, without the line (`forceFallback`); they keep no pace. */
export async function dueForcedFallbacks(db: TenantDb, lineId: string, now: Date): Promise<string[]> {
  const ids = await db.anyFirst(sql.type(IdRow)`
    select m.id from messages m
    where m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId} and m.status in ('pending', 'scheduled')
      and not m.held and ${campaignAllowsSending(db)} and m.force_fallback and m.scheduled_at <= ${sql.timestamp(now)}
    order by m.scheduled_at, m.arrival limit 50`);
  return [...ids];
}

/** Of these, those that nobody else is just changing: a round does not wait, and looks at the others again. */
export const free = (db: TenantDb, ids: readonly string[]) => sql.fragment`
  select id from messages where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})
    and status in ('pending', 'scheduled') and not held
  for no key update skip locked`;

/** Moves messages to a later time, each with the reason that operators and callers see. */
export async function moveMessages(
  db: TenantDb,
  moves: readonly { id: string; to: Date; reason: string }[],
): Promise<void> {
  if (moves.length === 0) return;
  const rows = moves.map(({ id, to, reason }) => [id, to.toISOString(), reason]);
  const ids = moves.map(({ id }) => id);
  await db.query(sql.type(NoRows)`
    with free as materialized (${free(db, ids)}),
    -- A rule that moves the same message again and again is recorded once.
    recorded as (
      insert into message_moves (workspace_id, message_id, moved_from, moved_to, reason)
      select m.workspace_id, m.id, m.scheduled_at, v.at, v.reason
      from free join messages m on m.workspace_id = ${db.workspaceId} and m.id = free.id
      join ${sql.unnest(rows, ['text', 'timestamptz', 'text'])} as v (id, at, reason) on v.id = m.id
      where m.hold_reason is distinct from v.reason
    )
    update messages m set status = 'scheduled', scheduled_at = v.at, hold_reason = v.reason, updated_at = now()
    from free join ${sql.unnest(rows, ['text', 'timestamptz', 'text'])} as v (id, at, reason) on v.id = free.id
    where m.workspace_id = ${db.workspaceId} and m.id = free.id`);
}

/** Lets a line's pacer judge anew what its caps have moved away: they are others now. */
export async function rescheduleCapped(db: TenantDb, lineId: string, now: Date): Promise<void> {
  const moved = sql.fragment`m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId} and m.status = 'scheduled' and not m.held
    and m.scheduled_at > ${sql.timestamp(now)} and m.hold_reason in ('hourly_new_cap', 'daily_new_cap', 'daily_total_cap')`;
  await db.query(sql.type(NoRows)`
    with locked as materialized (select m.id from messages m where ${moved} order by m.id for no key update)
    update messages m set scheduled_at = ${sql.timestamp(now)}, updated_at = now()
    from locked where m.id = locked.id and ${moved}`);
}

/** Says why due messages wait; their place in the queue stays. */
export async function setHoldReason(db: TenantDb, ids: readonly string[], reason: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    with free as materialized (${free(db, ids)})
    update messages m set hold_reason = ${reason}, updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id and m.hold_reason is distinct from ${reason}`);
}
