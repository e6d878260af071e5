import { sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { dayBounds, hourBounds } from '#domain/base/calendar.ts';
import { CampaignStatus } from '#domain/campaigns/campaign.ts';
import { circuitAt } from '#domain/sending/circuit.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { wakingHours } from '#domain/sending/quiet-hours.ts';
import { dueTime, type MessageRecord } from '#domain/messages/timeline.ts';
import type { WaitFacts, WaitingLine } from '#domain/sending/waiting.ts';
import { AttemptOutcome, AttemptRow, callHistories, lastFailure, lineHistory } from '../sending/attempts.ts';
import { holdsBetween } from '../sending/line-holds.ts';
import { findLine, pacedLine } from '../lines/lines.ts';
import { findMessage, type MessageRow } from './messages.ts';
import { sendWindow } from './message-window.ts';
import { isOptedOut } from '../contacts/opt-outs.ts';
import { showWaits } from './shown-messages.ts';
import { campaignAllowsSending } from '../sending/queue.ts';
import { recipientOf } from './message-recipient.ts';
import { workspacePace } from '../accounts/workspaces.ts';

const Move = z.object({
  at: z.date(),
  movedFrom: z.date(),
  movedTo: z.date(),
  reason: z.string(),
  rule: z.string().nullable(),
  fromLineId: z.string().nullable(),
  toLineId: z.string().nullable(),
});

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
  facts: Omit<WaitFacts, 'unserved'>;
  /** The carrier that must send it now; null: the message is not due or has no carrier. */
  neededCarrier: string | null;
}

/** Loads everything recorded about a message, and what it waits for. @returns null if there is no such message. */
export async function findTimeline(db: TenantDb, id: string, now: Date): Promise<StoredTimeline | null> {
  const stored = await findMessage(db, id);
  if (!stored) return null;
  const [shown] = await showWaits(db, [stored], now);
  const { row, moved } = shown ?? { row: stored, moved: null };
  const workspace = await workspacePace(db);
  const { timezone, pastDue, suspended, quiet: policy } = workspace;
  const quiet = wakingHours(policy, recipientOf(row), timezone);
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
  const line = row.lineId === null ? null : await findLine(db, row.lineId);
  // The clocks of processes differ from the database's by some milliseconds.
  const orders = await db.any(sql.type(Ordered)`
    select at, action, actor_name "by", reason, (changes ->> 'plannedFor')::timestamptz planned_for from audit_log
    where workspace_id = ${db.workspaceId} and id >= first_id(${sql.timestamp(stored.createdAt)} - interval '1 minute')
      and action in ('message.sent_now', 'message.skipped') and target_id = ${id} order by id`);
  const { from, until } = dueTime({ message: row, moves, orders, attempts });
  const holds = line === null ? [] : await holdsBetween(db, line.id, { from, until: until ?? now });
  const open = attempts.findLast(({ outcome }) => outcome === null);
  return {
    record: {
      timezone,
      message: row,
      moves: held ? [...moves, held] : moves,
      holds,
      orders,
      attempts,
      events,
      deliveries,
    },
    facts: {
      now,
      timezone,
      message: {
        status: row.status,
        holdReason: row.holdReason,
        scheduledAt: row.scheduledAt,
        ...sendWindow(row),
        ...(quiet && { quiet }),
        fallbackAt: row.fallbackSms === 'due' ? row.fallbackAt : null,
      },
      pastDue,
      suspended,
      optedOut: await isOptedOut(db, row.address),
      campaign: row.campaignId === null ? null : await campaignStatus(db, row.campaignId),
      previousStep: await previousStep(db, row),
      line: line && (await waitingLine(db, pacedLine(line, workspace, now), line, now)),
      openAttempt: open ?? null,
      lastFailure:
        attempts.findLast(({ outcome }) => outcome === 'transient')?.reason ??
        (row.lineId && (await lastFailure(db, row.lineId))),
      ahead: await countAhead(db, stored),
    },
    neededCarrier: isDue(row, now) && line && line.carrier !== NO_CARRIER ? line.carrier : null,
  };
}

const isDue = ({ status, scheduledAt }: MessageRow, now: Date): boolean =>
  status === 'pending' || (status === 'scheduled' && scheduledAt <= now);

/** How far the time in an event's id may be from the time of the change in its message. */
const AROUND = { before: '5 seconds', after: '15 seconds' };

/** Events have no index by message, so they are searched around the times at which the message changed. */
async function eventsOf(
  db: TenantDb,
  { id, sentAt, deliveredAt, readAt, updatedAt }: MessageRow,
  attempts: readonly z.infer<typeof Attempt>[],
): Promise<readonly z.infer<typeof Event>[]> {
  const times = [sentAt, deliveredAt, readAt, updatedAt, ...attempts.map(({ finishedAt }) => finishedAt)];
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

async function waitingLine(
  db: TenantDb,
  paced: ReturnType<typeof pacedLine>,
  {
    id,
    carrier,
    provisioningStatus,
    isActive,
    heldUntil,
    healthReason,
  }: NonNullable<Awaited<ReturnType<typeof findLine>>>,
  now: Date,
): Promise<WaitingLine> {
  const since = { day: dayBounds(paced.timezone, now).start, hour: hourBounds(paced.timezone, now).start };
  const { lastSentAt } = await lineHistory(db, id, since);
  const calls = (await callHistories(db, [id], { since: new Date(now.getTime() - DAY_MS), now })).get(id);
  return {
    ...paced,
    provisioning: provisioningStatus,
    connected: carrier !== NO_CARRIER,
    switchedOn: isActive,
    circuit: calls ? circuitAt(calls, now) : { state: 'closed' },
    heldUntil,
    healthReason,
    lastSentAt,
  };
}

const StatusRow = z.object({ status: CampaignStatus });

const campaignStatus = (db: TenantDb, id: string): Promise<CampaignStatus | null> =>
  db.maybeOneFirst(sql.type(StatusRow)`
    select status from campaigns where workspace_id = ${db.workspaceId} and id = ${id}`);

/** The first unsent step before a later one of the same lead; null: it waits for none. */
async function previousStep(
  db: TenantDb,
  { campaignId, leadId, stepIndex, holdReason }: MessageRow,
): Promise<string | null> {
  if (holdReason !== 'previous_step') return null;
  return db.maybeOneFirst(sql.type(IdRow)`
    select id from messages
    where workspace_id = ${db.workspaceId} and lead_id = ${leadId} and campaign_id = ${campaignId}
      and step_index < ${stepIndex} and status in ('pending', 'scheduled', 'sending')
    order by step_index limit 1`);
}

/** Older failures say nothing about the carrier's current state. */
const DAY_MS = 24 * 3_600_000;

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
