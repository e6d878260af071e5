import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { withInbox } from '#domain/lines/inbox-health.ts';
import { dayBounds, localDate } from '#domain/base/calendar.ts';
import { Channel } from '#domain/base/channel.ts';
import type { CapabilitiesOf } from '#domain/lines/capability.ts';
import {
  HealthStatus,
  type Line,
  type LinePatch,
  LineType,
  NO_CARRIER,
  PaymentStatus,
  ProvisioningStatus,
  ReadReceipts,
  RequestSource,
} from '#domain/lines/line.ts';
import { ShareContactCard, StoredContactCard } from '#domain/lines/contact-card.ts';
import { LineStop } from '#domain/lines/line-stop.ts';
import type { PacedLine } from '#domain/sending/holds.ts';
import {
  effectsOf,
  type ReputationEffects,
  ReputationPolicy,
  ReputationState,
} from '#domain/lines/reputation.ts';
import { usRegistrationOf } from '#domain/lines/us-registration.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { digitsSearched } from '#domain/base/phone.ts';
import { dailyNewCap } from '#domain/sending/line-limits.ts';
import { containsText } from '../base/search.ts';
import { failureOfCall } from '../sending/call-history.ts';

export const LineRow = z.object({
  id: z.string(),
  workspaceId: z.string(),
  channel: Channel,
  lineType: LineType,
  firstName: z.string(),
  lastName: z.string(),
  phone: z.string().nullable(),
  email: z.string().nullable(),
  isActive: z.boolean(),
  provisioningStatus: ProvisioningStatus,
  paymentStatus: PaymentStatus,
  requestSource: RequestSource,
  paymentLinkUrl: z.string().nullable(),
  paymentProviderInvoiceId: z.string().nullable(),
  carrier: z.string(),
  carrierConfig: z.record(z.string(), z.unknown()),
  dailyTotalLimit: z.int(),
  dailyNewLimit: z.int(),
  hourlyNewLimit: z.int().nullable(),
  minGapSeconds: z.int(),
  contactGapSeconds: z.int(),
  warmupStartedAt: z.date().nullable(),
  /** See `UsedUp` of domain/sending/pacing.ts. */
  hourlyNewUsedUp: z.date().nullable(),
  dailyNewUsedUp: z.date().nullable(),
  dailyTotalUsedUp: z.date().nullable(),
  lineDownNotifications: z.boolean(),
  readReceipts: ReadReceipts,
  contactCard: StoredContactCard.nullable(),
  shareContactCard: ShareContactCard,
  healthStatus: HealthStatus,
  healthCheckedAt: z.date().nullable(),
  /** Since when its mailbox cannot be read, and why. */
  inboxFailingSince: z.date().nullable(),
  inboxFailure: z.string().nullable(),
  /** Why the last check failed. */
  healthReason: z.string().nullable(),
  /** See `recordBlock`. */
  blockedAt: z.date().nullable(),
  /** Until when the line is being moved, deleted or connected, and starts no sends: `changingUntil` of the pacing rules. */
  heldUntil: z.date().nullable(),
  /** See domain/messages/lost-records.ts. */
  lostFrom: z.date().nullable(),
  lostUntil: z.date().nullable(),
  pausedAt: z.date().nullable(),
  reputationState: ReputationState,
  reputationScore: z.int(),
  reputationSince: z.date().nullable(),
  reputationCheckedAt: z.date().nullable(),
  /** Until when it opens or opened no conversations, because its reputation was critical. */
  reputationRestsUntil: z.date().nullable(),
  /** null: the workspace's. */
  reputationPolicy: ReputationPolicy.nullable(),
  reputationOverrideUntil: z.date().nullable(),
  reputationOverrideReason: z.string().nullable(),
  sendNow: z.array(z.string()),
  /** See domain/lines/line-stop.ts. */
  stoppedAt: z.date().nullable(),
  stopReason: LineStop.nullable(),
  /** See `recordHold`. */
  recordedHold: z.string().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});
export type LineRow = z.infer<typeof LineRow>;

/** Whether messages may be assigned to a line. Its health does not matter, because messages wait while it is down. */
const USABLE = sql.fragment`l.is_active and l.provisioning_status = 'active'`;
export const isUsable = (line: LineRow): boolean => line.isActive && line.provisioningStatus === 'active';

/** The effect of a line's reputation on its pacing. @param policy the workspace's policy. */
export const lineEffects = (line: LineRow, policy: ReputationPolicy, now: Date): ReputationEffects =>
  effectsOf(
    {
      state: line.reputationState,
      policy: line.reputationPolicy ?? policy,
      overriddenUntil: line.reputationOverrideUntil,
    },
    now,
  );

/** A line as the pacing rules see it. */
export function pacedLine(
  line: LineRow,
  { timezone, reputationPolicy }: { timezone: string; reputationPolicy: ReputationPolicy },
  now: Date,
): PacedLine {
  const effects = lineEffects(line, reputationPolicy, now);
  const { reputationRestsUntil: restsUntil } = line;
  const isOver = restsUntil !== null && restsUntil <= now;
  return {
    ...(effects.newConversationsStopped
      ? { restsUntil }
      : { newFactor: effects.newConversationsFactor, ...(isOver && { restsUntil }) }),
    gapFactor: effects.gapFactor,
    id: line.id,
    channel: line.channel,
    active: line.isActive,
    provisioning: line.provisioningStatus,
    down: line.healthStatus === 'down',
    healthReason: line.healthReason,
    changingUntil: line.heldUntil,
    unconnected: line.carrier === NO_CARRIER,
    paused: line.pausedAt !== null,
    timezone,
    dailyTotal: line.dailyTotalLimit,
    dailyNew: line.dailyNewLimit,
    hourlyNew: line.hourlyNewLimit,
    minGapSeconds: line.minGapSeconds,
    contactGapSeconds: line.contactGapSeconds,
    warmupStartedAt: line.warmupStartedAt,
    usedUp: {
      hourlyNew: line.hourlyNewUsedUp,
      dailyNew: line.dailyNewUsedUp,
      dailyTotal: line.dailyTotalUsedUp,
    },
  };
}

/** The usage of a line `l` of a workspace since a time: the attempts that were, or may have been, sent. */
const usageSince = (
  workspaceId: string | FragmentSqlToken,
  since: FragmentSqlToken | ReturnType<typeof sql.timestamp>,
) => sql.fragment`
  left join lateral (
    select count(*) total, count(*) filter (where a.is_new) new
    from attempts a
    where a.workspace_id = ${workspaceId} and a.line_id = l.id and a.kind = 'primary'
      and (a.outcome is null or a.outcome in ('accepted', 'unknown')) and a.started_at >= ${since}
    group by a.workspace_id
  ) usage on true`;

/** The carrier's reason for which a line `l` is blocked. */
const BLOCK_REASON = sql.fragment`(
  select ${failureOfCall(sql.fragment`a`)} from line_holds h join attempts a on a.workspace_id = h.workspace_id and a.id = h.attempt_id
  where h.workspace_id = l.workspace_id and h.line_id = l.id and h.ended_at is null and h.reason = 'carrier_pause')`;

const UsedLineRow = LineRow.extend({
  total: z.int(),
  new: z.int(),
  blockReason: z.string().nullable(),
  workspacePolicy: ReputationPolicy,
});

/** What `presentLine` needs of a line `l` whose usage is joined. */
const USED_LINE = sql.fragment`
  l.*, coalesce(usage.total, 0) total, coalesce(usage.new, 0) new, ${BLOCK_REASON} block_reason,
  (select ws.reputation_policy from workspaces ws where ws.id = l.workspace_id) workspace_policy`;

/** Lines with today's usage, oldest first. `search` matches any part of the name, number or address. */
export async function listLines(
  db: TenantDb,
  timezone: string,
  capabilitiesOf: CapabilitiesOf,
  now: Date,
  search?: string,
): Promise<Line[]> {
  const digits = search === undefined ? null : digitsSearched(search);
  const rows = await db.any(sql.type(UsedLineRow)`
    select ${USED_LINE} from lines l
      ${usageSince(db.workspaceId, sql.timestamp(dayBounds(timezone, now).start))}
    where ${sql.and([
      sql.fragment`l.workspace_id = ${db.workspaceId}`,
      search !== undefined &&
        sql.or([
          containsText(sql.fragment`concat_ws(' ', l.first_name, l.last_name, l.phone, l.email)`, search),
          digits !== null && containsText(sql.fragment`l.phone`, digits),
        ]),
    ])} order by l.id`);
  return rows.map((row) => presentLine(row, timezone, capabilitiesOf, now));
}

/**
 * All lines of several workspaces, by workspace, oldest first. One statement, so that a line that is moved meanwhile is
 * neither missing nor there twice.
 */
export async function listLinesOf(
  db: SystemDb,
  workspaces: readonly { id: string; timezone: string }[],
  capabilitiesOf: CapabilitiesOf,
  now: Date,
): Promise<Line[]> {
  const zones = new Map(workspaces.map(({ id, timezone }) => [id, timezone]));
  const rows = await db.any(sql.type(UsedLineRow)`
    select ${USED_LINE}
    from ${sql.unnest(
      workspaces.map(({ id, timezone }) => [id, dayBounds(timezone, now).start.toISOString()]),
      ['text', 'timestamptz'],
    )} as w (id, day) join lines l on l.workspace_id = w.id
      ${usageSince(sql.fragment`l.workspace_id`, sql.fragment`w.day`)}
    order by l.workspace_id, l.id`);
  return rows.map((row) => presentLine(row, zones.get(row.workspaceId) ?? 'UTC', capabilitiesOf, now));
}

export async function findLine(db: TenantDb, id: string): Promise<LineRow | null> {
  return db.maybeOne(sql.type(LineRow)`
    select l.* from lines l where l.workspace_id = ${db.workspaceId} and l.id = ${id}`);
}

/** Locks a line until the transaction ends. Serializes its rounds, updates and moves. */
export async function lockLine(db: TenantDb, id: string): Promise<LineRow | null> {
  return db.maybeOne(sql.type(LineRow)`
    select l.* from lines l where l.workspace_id = ${db.workspaceId} and l.id = ${id} for no key update`);
}

/** The other lines of a channel that lost records (domain/messages/lost-records.ts). */
export async function otherLinesWithLoss(
  db: TenantDb,
  { id, channel }: Pick<LineRow, 'id' | 'channel'>,
): Promise<readonly LineRow[]> {
  return db.any(sql.type(LineRow)`
    select l.* from lines l
    where l.workspace_id = ${db.workspaceId} and l.channel = ${channel} and l.id <> ${id} and l.lost_until is not null
      and l.carrier <> ${NO_CARRIER}`);
}

export async function findLineWithUsage(
  db: TenantDb,
  id: string,
  timezone: string,
  capabilitiesOf: CapabilitiesOf,
  now: Date,
): Promise<Line | null> {
  const row = await db.maybeOne(sql.type(UsedLineRow)`
    select ${USED_LINE} from lines l
      ${usageSince(db.workspaceId, sql.timestamp(dayBounds(timezone, now).start))}
    where l.workspace_id = ${db.workspaceId} and l.id = ${id}`);
  return row && presentLine(row, timezone, capabilitiesOf, now);
}

const ChoosableLine = LineRow.pick({ id: true, channel: true, phone: true, stoppedAt: true }).extend({
  down: z.boolean(),
  unconnected: z.boolean(),
});
export type ChoosableLine = z.infer<typeof ChoosableLine>;

/** The lines that messages may be assigned to, oldest first, which is the order of the round-robin. */
export async function usableLines(db: TenantDb): Promise<ChoosableLine[]> {
  const lines = await db.any(sql.type(ChoosableLine)`
    select l.id, l.channel, l.phone, l.stopped_at, l.health_status = 'down' down, l.carrier = ${NO_CARRIER} unconnected
    from lines l
    where l.workspace_id = ${db.workspaceId} and ${USABLE} order by l.id`);
  return [...lines];
}

const LineIdRow = LineRow.pick({ id: true });

/**
 * Locks lines in share mode until the transaction ends, so that they cannot be deleted or transferred.
 * @returns those that still belong to the workspace.
 */
export async function lockLinesShared(db: TenantDb, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const kept = await db.anyFirst(sql.type(LineIdRow)`
    select l.id from lines l
    where l.workspace_id = ${db.workspaceId} and l.id = any(${sql.array([...new Set(ids)], 'text')})
    order by l.id for key share`);
  return new Set(kept);
}

/** The lines that have exchanged a message with one of these addresses. */
export async function linesThatKnow(db: TenantDb, addresses: readonly string[]): Promise<readonly string[]> {
  return db.anyFirst(sql.type(LineIdRow)`
    select l.id from lines l
    where l.workspace_id = ${db.workspaceId} and exists (
      select from line_contacts c
      where c.workspace_id = ${db.workspaceId} and c.line_id = l.id and c.address = any(${sql.array([...addresses], 'text')}))`);
}

/** Those of these lines that belong to the workspace. */
export async function existingLines(db: TenantDb, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const present = await db.anyFirst(sql.type(LineIdRow)`
    select l.id from lines l
    where l.workspace_id = ${db.workspaceId} and l.id = any(${sql.array([...new Set(ids)], 'text')})`);
  return new Set(present);
}

const FirstRow = z.object({ first: z.int() });

/** The column of each channel's position in `line_rotation`. */
const POSITIONS: Record<Channel, string> = {
  imessage: 'position',
  sms: 'sms_position',
  email: 'email_position',
};

/**
 * Advances the round-robin of the workspace's lines of a channel by `count`, in a transaction of its own.
 * @returns the position before.
 */
export async function advanceRotation(db: TenantDb, channel: Channel, count: number): Promise<number> {
  const position = sql.identifier([POSITIONS[channel]]);
  return db.autocommit.oneFirst(sql.type(FirstRow)`
    insert into line_rotation (workspace_id, ${position}) values (${db.workspaceId}, ${count})
    on conflict (workspace_id) do update set ${position} = line_rotation.${position} + ${count}
    returning ${position} - ${count} "first"`);
}

const CAPS = [
  'dailyTotalMessagesLimit',
  'dailyNewConversationsLimit',
  'hourlyNewConversationsLimit',
] as const;

/** @returns false if there is no such line. */
export async function updateLine(db: TenantDb, id: string, patch: LinePatch): Promise<boolean> {
  const columns: [column: string, value: string | number | boolean | null | undefined][] = [
    ['first_name', patch.firstName],
    ['last_name', patch.lastName],
    ['is_active', patch.isActive],
    ['daily_total_limit', patch.dailyTotalMessagesLimit],
    ['daily_new_limit', patch.dailyNewConversationsLimit],
    ['hourly_new_limit', patch.hourlyNewConversationsLimit],
    ['min_gap_seconds', patch.minGapSeconds],
    ['contact_gap_seconds', patch.contactGapSeconds],
    ['line_down_notifications', patch.lineDownNotifications],
    ['read_receipts', patch.readReceipts],
    ['share_contact_card', patch.shareContactCard],
    ['reputation_policy', patch.reputationPolicy],
  ];
  const assignments = columns.flatMap(([column, value]) =>
    value === undefined ? [] : [sql.fragment`${sql.identifier([column])} = ${value}`],
  );
  // A limit ends the warm-up. The new caps may release what the old ones held.
  if (CAPS.some((cap) => patch[cap] !== undefined))
    assignments.push(
      sql.fragment`warmup_started_at = null, hourly_new_used_up = null, daily_new_used_up = null, daily_total_used_up = null`,
    );
  const { rowCount } = await db.query(sql.type(NoRows)`
    update lines l set ${sql.join([sql.fragment`updated_at = now()`, ...assignments], sql.fragment`, `)}
    where l.workspace_id = ${db.workspaceId} and l.id = ${id}`);
  return rowCount > 0;
}

function presentLine(
  row: z.infer<typeof UsedLineRow>,
  timezone: string,
  capabilitiesOf: CapabilitiesOf,
  now: Date,
): Line {
  const usRegistration = usRegistrationOf(row.carrierConfig);
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    firstName: row.firstName,
    lastName: row.lastName,
    phone: row.phone,
    email: row.email,
    isActive: row.isActive,
    provisioningStatus: row.provisioningStatus,
    paymentStatus: row.paymentStatus,
    requestSource: row.requestSource,
    requestedChannelType: row.channel,
    requestedLineType: row.lineType,
    capabilities: [...capabilitiesOf(row)],
    paymentLinkUrl: row.paymentLinkUrl,
    paymentProviderInvoiceId: row.paymentProviderInvoiceId,
    dailyNewConversationsLimit: row.dailyNewLimit,
    dailyTotalMessagesLimit: row.dailyTotalLimit,
    hourlyNewConversationsLimit: row.hourlyNewLimit,
    minGapSeconds: row.minGapSeconds,
    contactGapSeconds: row.contactGapSeconds,
    lineDownNotifications: row.lineDownNotifications,
    readReceipts: row.readReceipts,
    shareContactCard: row.shareContactCard,
    isPaused: row.pausedAt !== null,
    blocked: row.blockedAt && { since: row.blockedAt.toISOString(), reason: row.blockReason },
    reputationPolicy: row.reputationPolicy,
    reputation: { state: row.reputationState, score: row.reputationScore },
    usage: {
      date: localDate(timezone, now),
      newMessages: row.new,
      newMessagesLimit: dailyNewCap(
        pacedLine(row, { timezone, reputationPolicy: row.workspacePolicy }, now),
        now,
      ),
      totalMessages: row.total,
    },
    ...(row.healthCheckedAt && {
      healthCheck: {
        status: withInbox(row.healthStatus, row.inboxFailingSince, currentTime()),
        lastCheckedAt: row.healthCheckedAt.toISOString(),
        ...(row.healthStatus !== 'healthy' && row.healthReason !== null && { reason: row.healthReason }),
        ...(row.inboxFailingSince && {
          inbox: { failingSince: row.inboxFailingSince.toISOString(), reason: row.inboxFailure ?? '' },
        }),
      },
    }),
    ...(usRegistration !== null && { usRegistration }),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
