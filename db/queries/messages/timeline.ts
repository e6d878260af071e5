import { sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { dueTime, type MessageRecord } from '#domain/messages/timeline.ts';
import type { SaidOfWait } from '#domain/sending/waiting.ts';
import { AttemptOutcome, AttemptRow } from '../sending/attempts.ts';
import { lastFailure } from '../sending/call-history.ts';
import { holdsBetween } from '../sending/line-holds.ts';
import { actionsOf } from './message-actions.ts';
import { linksOf } from './message-links.ts';
import { findMessage, type MessageRow } from './messages.ts';
import { campaignAllowsSending } from '../sending/queue.ts';
import { ruleOfMessage } from '../inbox/rule-runs.ts';
import { RULE_SOURCE } from '#domain/messages/accepted-message.ts';
import { findWaits, type FoundMessage, showWait } from './shown-messages.ts';
import { workspaceTimezone } from '../accounts/workspaces.ts';

const Move = z.object({
  at: z.date(),
  movedFrom: z.date(),
  movedTo: z.date(),
  reason: z.string(),
  rule: z.string().nullable(),
  fromLineId: z.string().nullable(),
  toLineId: z.string().nullable(),
});

const CorrectedRow = z.object({ messageId: z.string() });

/** The message of a campaign that a message corrects. */
const correctedBy = (db: TenantDb, id: string): Promise<string | null> =>
  db.maybeOneFirst(sql.type(CorrectedRow)`
    select message_id from campaign_corrections where workspace_id = ${db.workspaceId} and sent_message_id = ${id}`);

const Ordered = z.object({
  at: z.date(),
  action: z.string(),
  by: z.string().nullable(),
  reason: z.string().nullable(),
  plannedFor: z.date().nullable(),
});

const Attempt = AttemptRow.extend({
  finishedAt: z.date().nullable(),
  outcome: AttemptOutcome.nullable(),
  reason: z.string().nullable(),
});

const Event = z.object({ id: z.string(), event: z.string(), createdAt: z.date() });

const Delivery = z.object({
  id: z.string(),
  webhookId: z.string(),
  event: z.string(),
  success: z.boolean(),
  responseStatus: z.int().nullable(),
  error: z.string().nullable(),
  latencyMs: z.int().nullable(),
  finishedAt: z.date(),
});

/** The data of a message's timeline. */
export interface StoredTimeline {
  record: MessageRecord;
  found: FoundMessage;
  said: SaidOfWait;
}

/** Loads everything recorded about a message, and what it waits for. @returns null if there is no such message. */
export async function findTimeline(db: TenantDb, id: string, now: Date): Promise<StoredTimeline | null> {
  const stored = await findMessage(db, id);
  if (!stored) return null;
  const [found = { row: stored, facts: null }] = await findWaits(db, [stored], now);
  const { row, moved } = showWait(found, now);
  const timezone = await workspaceTimezone(db);
  const attempts = await db.any(sql.type(Attempt)`
    select * from attempts where workspace_id = ${db.workspaceId} and message_id = ${id} order by started_at, id`);
  const moves = await db.any(sql.type(Move)`
    select at, moved_from, moved_to, reason, rule, from_line_id, to_line_id from message_moves
    where workspace_id = ${db.workspaceId} and message_id = ${id} order by at`);
  // A delay by a cap or window is recorded when the message is sent; until then it is derived from the line.
  const held = moved && {
    at: stored.scheduledAt > stored.createdAt ? stored.scheduledAt : stored.createdAt,
    movedFrom: stored.scheduledAt,
    movedTo: moved.to,
    reason: moved.reason,
  };
  const events = await eventsOf(db, row, attempts);
  const deliveries = await deliveriesOf(db, events);
  // The clocks of processes differ from the database's by some milliseconds.
  const recorded = await db.any(sql.type(Ordered)`
    select at, action, actor_name "by", reason, (changes ->> 'plannedFor')::timestamptz planned_for from audit_log
    where workspace_id = ${db.workspaceId} and id >= first_id(${sql.timestamp(stored.createdAt)} - interval '1 minute')
      and action in ('message.sent_now', 'message.skipped', 'message.edited') and target_id = ${id} order by id`);
  const actions = await actionsOf(db, id);
  // After it was sent, the carrier decides.
  const edits = recorded.filter(
    ({ action, at }) => action === 'message.edited' && (row.sentAt === null || at < row.sentAt),
  );
  const orders = recorded.filter(({ action }) => action !== 'message.edited');
  const { from, until } = dueTime({ message: row, moves, orders, attempts });
  const { lineId } = row;
  const holds = lineId === null ? [] : await holdsBetween(db, lineId, { from, until: until ?? now });
  return {
    record: {
      timezone,
      message: row,
      corrects: await correctedBy(db, id),
      rule: row.source === RULE_SOURCE ? await ruleOfMessage(db, row) : null,
      moves: held ? [...moves, held] : moves,
      holds,
      edits,
      actions,
      orders,
      attempts,
      links: await linksOf(db, [id]),
      events,
      deliveries,
    },
    found,
    said: {
      timezone,
      previousStep: await previousStep(db, row),
      lastFailure:
        attempts.findLast(({ outcome }) => outcome === 'transient')?.reason ??
        (lineId && (await lastFailure(db, lineId, now))),
      ahead: await countAhead(db, stored),
    },
  };
}

/** How far the time in an event's id may be from the time of the change in its message. */
const AROUND = { before: '5 seconds', after: '15 seconds' };

/** Events have no index by message, so they are searched around the times at which the message changed. */
async function eventsOf(
  db: TenantDb,
  { id, sentAt, deliveredAt, readAt, editedAt, unsentAt, updatedAt }: MessageRow,
  attempts: readonly z.infer<typeof Attempt>[],
): Promise<readonly z.infer<typeof Event>[]> {
  const times = [
    sentAt,
    deliveredAt,
    readAt,
    editedAt,
    unsentAt,
    updatedAt,
    ...attempts.map(({ finishedAt }) => finishedAt),
  ];
  const seconds = new Set(times.flatMap((at) => (at ? Math.floor(at.getTime() / 1000) : [])));
  return db.any(sql.type(Event)`
    select distinct e.id, e.event, e.created_at
    from ${sql.unnest(
      [...seconds].map((second) => [second]),
      ['int8'],
    )} as t (second), lateral (
      select id, event, created_at from events
      where workspace_id = ${db.workspaceId} and message_id = ${id}
        and id >= first_id(to_timestamp(t.second) - ${AROUND.before}::interval)
        and id < first_id(to_timestamp(t.second) + ${AROUND.after}::interval)
    ) e order by e.id`);
}

/** Deliveries have ids of the same millisecond as their event. */
async function deliveriesOf(
  db: TenantDb,
  events: readonly { id: string }[],
): Promise<readonly z.infer<typeof Delivery>[]> {
  const ids = events.map(({ id }) => [id]);
  return db.any(sql.type(Delivery)`
    select d.id, d.webhook_id, d.event, d.success, d.response_status, d.error, d.latency_ms,
      coalesce(d.claimed_at, d.created_at) + make_interval(secs => coalesce(d.latency_ms, 0) / 1000.0) finished_at
    from ${sql.unnest(ids, ['text'])} as e (id) join webhook_deliveries d
      on d.workspace_id = ${db.workspaceId} and d.event_id = e.id and d.status = 'done'
        and d.id between left(e.id, 12) || repeat('0', 12) and left(e.id, 12) || repeat('f', 12)
    order by finished_at, d.id`);
}

/** The step of the same lead whose turn it is before a later one; null: it waits for none. */
async function previousStep(
  db: TenantDb,
  { campaignId, leadId, holdReason }: MessageRow,
): Promise<string | null> {
  if (holdReason !== 'previous_step') return null;
  return db.maybeOneFirst(sql.type(IdRow)`
    select id from messages
    where workspace_id = ${db.workspaceId} and lead_id = ${leadId} and campaign_id = ${campaignId}
      and hold_reason is distinct from 'previous_step' and status in ('pending', 'scheduled', 'sending') limit 1`);
}

/** A larger number would tell the reader nothing more. */
const MAX_AHEAD = 1000;

async function countAhead(db: TenantDb, { id, lineId, scheduledAt, arrival }: MessageRow): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    select from messages m
    where m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId} and m.status in ('pending', 'scheduled')
      and not m.held and not m.force_fallback and m.id <> ${id} and ${campaignAllowsSending(db)}
      and (m.scheduled_at, m.arrival) < (${sql.timestamp(scheduledAt)}, ${arrival})
    limit ${MAX_AHEAD}`);
  return rowCount;
}
