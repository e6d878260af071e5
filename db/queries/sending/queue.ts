import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { isGroupAddress } from '#domain/inbox/group.ts';
import type { Lane, OpenLane, QueuedMessage } from '#domain/sending/pacing.ts';
import { VOICE_NOTE_CHANNEL } from '#domain/messages/voice-note.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { MessageRecipient, recipientOf } from '../messages/message-recipient.ts';
import { MessageWindow, sendWindow } from '../messages/message-window.ts';
import { erasedAmong, hasErasedOptOuts, optedOutAmong } from '../contacts/opt-outs.ts';
import { suppressedAmong } from '../contacts/suppressions.ts';

/**
 * Whether a message's campaign is active and its messages have the texts of its steps, so that pausing and editing change one row and
 * every message keeps its place. Of a completed one, only corrections are left. The
 * subquery is not correlated, so that campaigns are looked up once and not for each message.
 */
export const campaignAllowsSending = (
  db: TenantDb,
) => sql.fragment`(m.campaign_id is null or m.campaign_id in (
  select id from campaigns where workspace_id = ${db.workspaceId} and status in ('active', 'completed') and revised_at is null))`;

/** The messages in a line's queue: without later steps (`held`) and without forced SMS, which do not use the line. */
export const queued = (db: TenantDb, lineId: string) => sql.fragment`
  m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId} and m.status in ('pending', 'scheduled') and not m.held
  and not m.force_fallback`;

/** The data from which the rules of a message are derived. */
export const RULES = sql.fragment`m.campaign_id, m.source, m.recipient_zones, m.recipient_region,
  m.window_timezone, m.window_start, m.window_end, m.window_days`;

const LaneRow = MessageWindow.extend(MessageRecipient.shape).extend({
  key: z.string(),
  isNew: z.boolean(),
  firstAt: z.date(),
  laterAt: z.date().nullable(),
});

/**
 * The lanes of a line's queue, except those of inactive campaigns. Reads two index entries per lane, however many
 * messages it has.
 */
export async function queueLanes(db: TenantDb, lineId: string, now: Date): Promise<Lane[]> {
  const rows = await db.any(sql.type(LaneRow)`
    with recursive ${lanes(db, lineId, sql.fragment`m.scheduled_at, ${RULES}`)}
    select m.lane "key", m.is_new, ${RULES}, m.scheduled_at first_at,
      case when m.scheduled_at > ${sql.timestamp(now)} then m.scheduled_at else later.scheduled_at end later_at
    from lanes m
    left join lateral (
      select q.scheduled_at from (
        select m.scheduled_at, m.arrival, m.is_new, m.lane from messages m where ${queued(db, lineId)}
      ) q
      where q.is_new = m.is_new and q.lane = m.lane and q.scheduled_at > ${sql.timestamp(now)}
      order by q.scheduled_at, q.arrival limit 1
    ) later on true
    where ${campaignAllowsSending(db)}`);
  return rows.map(({ key, isNew, firstAt, laterAt, ...rules }) => ({
    key,
    isNew,
    firstAt,
    laterAt,
    recipient: recipientOf(rules),
    ...sendWindow(rules),
  }));
}

/** A recursive common table expression with columns of the first message of each lane, by one index entry per lane. */
function lanes(db: TenantDb, lineId: string, columns: FragmentSqlToken): FragmentSqlToken {
  const first = (condition: FragmentSqlToken) => sql.fragment`
    select m.is_new, m.lane, ${columns} from messages m where ${queued(db, lineId)} ${condition}
    order by m.is_new, m.lane, m.scheduled_at, m.arrival limit 1`;
  return sql.fragment`lanes as (
    (${first(sql.fragment``)})
    union all
    select next.* from lanes l cross join lateral (
      ${first(sql.fragment`and (m.is_new, m.lane) > (l.is_new, l.lane)`)}
    ) next
  )`;
}

/** The number of lanes that are read to show what a line sends next. */
const MAX_LANES = 50;

/** The first message of each lane of a line's queue, except lanes of inactive campaigns. */
export async function firstOfLanes(db: TenantDb, lineId: string): Promise<readonly string[]> {
  return db.anyFirst(sql.type(IdRow)`
    with recursive ${lanes(db, lineId, sql.fragment`m.id, m.campaign_id`)}
    select m.id from lanes m where ${campaignAllowsSending(db)} limit ${MAX_LANES}`);
}

/** How many messages wait in a line's queue. @param limit messages beyond it are not counted. */
export async function countQueued(db: TenantDb, lineId: string, limit: number): Promise<number> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    select from messages m where ${queued(db, lineId)} limit ${limit}`);
  return rowCount;
}

const QueueRow = MessageWindow.extend(MessageRecipient.shape).extend({
  hasErased: z.boolean(),
  id: z.string(),
  address: z.string(),
  scheduledAt: z.date(),
  arrival: z.int(),
  isNew: z.boolean(),
  isAnswer: z.boolean(),
  optedOut: z.boolean(),
  suspected: z.boolean(),
  suppressed: z.boolean(),
  contactLastSentAt: z.date().nullable(),
  leadId: z.string().nullable(),
  transientFailures: z.int(),
});

/** Open lanes as rows `o`. */
export const openLanes = (open: readonly OpenLane[]) =>
  sql.fragment`${sql.unnest(
    open.map(({ key, isNew, since }) => [key, isNew, since.toISOString()]),
    ['uuid', 'bool', 'timestamptz'],
  )} as o (lane, is_new, since)`;

/**
 * The first due messages in open lanes of a line's queue, with what the pacing rules need to know about each: answers
 * first, then by scheduled time, then by arrival.
 */
export async function dueMessages(
  db: TenantDb,
  lineId: string,
  open: readonly OpenLane[],
  now: Date,
  limit: number,
): Promise<QueuedMessage[]> {
  if (open.length === 0) return [];
  return describeQueued(
    db,
    sql.fragment`
    with answers as materialized (
      select m.id, m.is_new, m.lane, m.scheduled_at, m.arrival from messages m
      where ${queued(db, lineId)} and m.answers_until > ${sql.timestamp(now)} and m.scheduled_at <= ${sql.timestamp(now)}
    )
    (select a.id, true is_answer, a.scheduled_at, a.arrival
      from answers a join ${openLanes(open)} on o.lane = a.lane and o.is_new = a.is_new and o.since <= a.scheduled_at
      order by a.scheduled_at, a.arrival limit ${limit})
    union
    (select head.id, head.is_answer, head.scheduled_at, head.arrival
      from ${openLanes(open.filter(({ answersOnly }) => !answersOnly))} cross join lateral (
        select m.id, ${isAnswer(now)} is_answer, m.scheduled_at, m.arrival
        from messages m where ${queued(db, lineId)} and m.is_new = o.is_new and m.lane = o.lane
          and m.scheduled_at >= o.since and m.scheduled_at <= ${sql.timestamp(now)}
        order by m.scheduled_at, m.arrival limit ${limit}
      ) head
      order by head.scheduled_at, head.arrival limit ${limit})
    order by is_answer desc, scheduled_at, arrival limit ${limit}`,
  );
}

/** The clocks of processes, by which an order is due, differ by less than a round trip to PostgreSQL. */
const CLOCKS_DIFFER_MS = 250;

/** Those of the messages that are due in a line's queue, in any lane. */
export async function urgentMessages(
  db: TenantDb,
  lineId: string,
  ids: readonly string[],
  now: Date,
): Promise<QueuedMessage[]> {
  if (ids.length === 0) return [];
  const found = await describeQueued(
    db,
    sql.fragment`
    select m.id, ${isAnswer(now)} is_answer, m.scheduled_at, m.arrival from messages m
    where ${queued(db, lineId)} and m.id = any(${sql.array([...ids], 'text')}) and ${campaignAllowsSending(db)}
      and m.scheduled_at <= ${sql.timestamp(new Date(now.getTime() + CLOCKS_DIFFER_MS))}`,
  );
  return found.map((message) => ({ ...message, isUrgent: true }));
}

/** Whether a message `m` of a campaign goes to a contact with a suspected opt-out. */
export const isSuspected = (db: TenantDb) => sql.fragment`(m.campaign_id is not null and exists (
  select from opt_out_suspicions s
  where s.workspace_id = ${db.workspaceId} and s.address = m.address and s.status = 'open'))`;

const isAnswer = (now: Date) => sql.fragment`coalesce(m.answers_until > ${sql.timestamp(now)}, false)`;

/** @param found selects `id`, `is_answer`, `scheduled_at` and `arrival`. */
async function describeQueued(
  db: TenantDb,
  found: ReturnType<typeof sql.fragment>,
): Promise<QueuedMessage[]> {
  const rows = await db.any(sql.type(QueueRow)`
    with queued as materialized (
      select m.id, m.address, m.lead_id, m.line_id, m.scheduled_at, m.arrival, m.transient_failures, f.is_answer,
        ${isSuspected(db)} suspected, ${RULES}
      from (${found}) f
      join messages m on m.workspace_id = ${db.workspaceId} and m.id = f.id
    )
    select m.*, lc.address is null and not m.is_answer is_new, b.address is not null opted_out,
      m.address in (select suppressed_among(array(select address from queued))) suppressed,
      ${hasErasedOptOuts(db)} has_erased, c.last_outbound_at contact_last_sent_at
    from queued m
    left join line_contacts lc on lc.workspace_id = ${db.workspaceId} and lc.line_id = m.line_id and lc.address = m.address
    left join opt_outs b on b.workspace_id = ${db.workspaceId} and b.address = m.address
    left join conversations c on c.workspace_id = ${db.workspaceId} and c.address = m.address
    order by m.is_answer desc, m.scheduled_at, m.arrival`);
  const addresses = rows.flatMap(({ hasErased, address }) => (hasErased ? [address] : []));
  const erased = new Set(addresses.length > 0 ? await erasedAmong(db, addresses) : []);
  // A group is written to only if all in it may be.
  const groups = rows.map(({ address }) => address).filter((address) => isGroupAddress(address));
  const groupsOptedOut = await optedOutAmong(db, groups);
  const groupsSuppressed = await suppressedAmong(db, groups);
  return rows.map(
    ({
      id,
      address,
      scheduledAt,
      arrival,
      isNew,
      isAnswer,
      optedOut,
      contactLastSentAt,
      hasErased,
      suspected,
      suppressed,
      leadId,
      transientFailures: tries,
      ...rules
    }) => ({
      id,
      address,
      scheduledAt,
      arrival,
      isNew,
      isAnswer,
      contactLastSentAt,
      suspected,
      suppressed: suppressed || groupsSuppressed.has(address),
      leadId,
      tries,
      isStep: rules.campaignId !== null,
      optedOut: optedOut || (hasErased && erased.has(address)) || groupsOptedOut.has(address),
      recipient: recipientOf(rules),
      ...sendWindow(rules),
    }),
  );
}

const SMS_ONLY_AT_ONCE = 50;
const FALLBACKS_AT_ONCE = 100;
/** A round within a workflow task sends as many. */
const BUBBLES_AT_ONCE = 4;

const OutsideQueue = z.object({
  /** Messages to send as SMS without their line (`forceFallback`), which are not paced. */
  smsOnly: z.array(z.string()),
  /** When the next of them is due. */
  nextSmsOnlyAt: z.date().nullable(),
  /** Messages whose fallback SMS is to be sent now. */
  fallbacksDue: z.array(z.string()),
  /** When the next of the others may be sent. */
  nextFallbackAt: z.date().nullable(),
  /** A voice note is due soon. */
  hasVoiceNotes: z.boolean(),
  /** Bubbles that are to be sent now, as the ones before them were. */
  bubbles: z.array(z.string()),
  /** When the next of the others is due. */
  nextBubbleAt: z.date().nullable(),
  /** There are actions that are neither done nor failed. */
  hasActions: z.boolean(),
});

/** The work of a line besides its queue. */
export async function workOutsideQueue(
  db: TenantDb,
  lineId: string,
  { now, voiceNotesUntil }: { now: Date; voiceNotesUntil: Date },
): Promise<z.infer<typeof OutsideQueue>> {
  const ofLine = sql.fragment`m.workspace_id = ${db.workspaceId} and m.line_id = ${lineId}`;
  const smsOnly = sql.fragment`${ofLine} and m.status in ('pending', 'scheduled') and not m.held
    and ${campaignAllowsSending(db)} and m.force_fallback`;
  const fallbacksDue = sql.fragment`${ofLine} and m.fallback_sms = 'due'`;
  const bubbles = sql.fragment`${ofLine} and m.bubble_of is not null and m.held and m.hold_reason is null
    and m.status in ('pending', 'scheduled')`;
  return db.one(sql.type(OutsideQueue)`
    select
      array(select m.id::text from messages m where ${smsOnly} and m.scheduled_at <= ${sql.timestamp(now)}
        order by m.scheduled_at, m.arrival limit ${SMS_ONLY_AT_ONCE}) sms_only,
      (select min(m.scheduled_at) from messages m where ${smsOnly} and m.scheduled_at > ${sql.timestamp(now)}) next_sms_only_at,
      array(select m.id::text from messages m where ${fallbacksDue} and m.fallback_at <= ${sql.timestamp(now)}
        order by m.fallback_at limit ${FALLBACKS_AT_ONCE}) fallbacks_due,
      (select min(m.fallback_at) from messages m where ${fallbacksDue} and m.fallback_at > ${sql.timestamp(now)}) next_fallback_at,
      array(select m.id::text from messages m where ${bubbles} and m.scheduled_at <= ${sql.timestamp(now)}
        order by m.scheduled_at limit ${BUBBLES_AT_ONCE}) bubbles,
      (select min(m.scheduled_at) from messages m where ${bubbles} and m.scheduled_at > ${sql.timestamp(now)}) next_bubble_at,
      exists (select from messages m where ${ofLine} and m.status in ('pending', 'scheduled') and not m.held
        and m.voice_note and m.channel = ${VOICE_NOTE_CHANNEL}
        and m.scheduled_at <= ${sql.timestamp(voiceNotesUntil)}) has_voice_notes,
      exists (select from message_actions a where a.workspace_id = ${db.workspaceId} and a.line_id = ${lineId}
        and a.status in ('pending', 'calling')) has_actions`);
}
