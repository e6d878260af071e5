import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import type { Lane, OpenLane, QueuedMessage } from '#domain/sending/pacing.ts';
import { MAX_LIMIT } from '#domain/lines/line.ts';
import type { PersonHold } from '#domain/sending/person-holds.ts';
import { VOICE_NOTE_CHANNEL } from '#domain/messages/voice-note.ts';
import { ROWS_INSERTED } from '#db/connection/recordset.ts';
import { AddressRow, IdRow, NoRows } from '#db/connection/rows.ts';
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
const queued = (db: TenantDb, lineId: string) => sql.fragment`
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
const openLanes = (open: readonly OpenLane[]) =>
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

/**
 * The given messages that nobody has locked. A round does not wait for the others, but looks again. Each is looked up by
 * its id: where statistics have few messages that wait, the planner would read all that do, for the ids among them.
 */
export const free = (db: TenantDb, ids: readonly string[]) => sql.fragment`
  select m.id from ${sql.unnest(
    ids.map((id) => [id]),
    ['text'],
  )} as chosen (id) cross join lateral (
    select id, status, held from messages where workspace_id = ${db.workspaceId} and id = chosen.id
    offset 0 for no key update skip locked
  ) m
  where m.status in ('pending', 'scheduled') and not m.held`;

/**
 * Postpones the due messages in open lanes to contacts who were just sent one until their gaps end. Skips locked
 * messages and those in `except`.
 */
export async function waitOutContactGaps(
  db: TenantDb,
  lineId: string,
  open: readonly OpenLane[],
  contactGaps: ReadonlyMap<string, Date>,
  except: readonly string[],
  now: Date,
): Promise<void> {
  if (contactGaps.size === 0) return;
  const contacts = [...contactGaps].map(([address, until]) => [address, until.toISOString()]);
  const moved = await db.any(sql.type(PostponedRow)`
    with free as materialized (
      select m.id, m.scheduled_at, m.hold_reason, r.until from ${sql.unnest(contacts, ['text', 'timestamptz'])} as r (address, until)
      join messages m on ${queued(db, lineId)} and m.address = r.address and m.scheduled_at <= ${sql.timestamp(now)}
      where not m.id = any(${sql.array([...except], 'text')}) and exists (
        select from ${openLanes(open)} where o.lane = m.lane and o.is_new = m.is_new and o.since <= m.scheduled_at)
      for no key update of m skip locked
    )
    update messages m set status = 'scheduled', scheduled_at = free.until, hold_reason = 'contact_gap', updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id
    returning m.id, free.scheduled_at moved_from, free.until moved_to,
      free.hold_reason is not distinct from 'contact_gap' again`);
  // A rule that moves the same message again and again is recorded once.
  await insertMoves(
    db,
    'contact_gap',
    moved.filter(({ again }) => !again),
  );
}

/** Makes the messages due that wait for the gaps of their contacts, which the line may have shortened. Skips locked messages. */
export async function endContactGaps(db: TenantDb, lineId: string, now: Date): Promise<void> {
  const longest = new Date(now.getTime() + MAX_LIMIT * 1000);
  await db.query(sql.type(NoRows)`
    with free as materialized (
      select m.id from messages m
      where ${queued(db, lineId)} and m.hold_reason = 'contact_gap' and m.scheduled_at > ${sql.timestamp(now)}
        and m.scheduled_at <= ${sql.timestamp(longest)}
      for no key update of m skip locked
    )
    update messages m set scheduled_at = ${sql.timestamp(now)}, hold_reason = null, updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id`);
}

/** Postpones messages of campaigns that wait because of their persons. Skips locked messages. */
export async function holdPersons(db: TenantDb, held: ReadonlyMap<string, PersonHold>): Promise<void> {
  for (const [reason, these] of Map.groupBy(held, ([, hold]) => hold.reason)) {
    const rows = these.map(([id, { until }]) => [id, until.toISOString()]);
    const moved = await db.any(sql.type(PostponedRow)`
      with free as materialized (
        ${free(
          db,
          these.map(([id]) => id),
        )}
      ),
      moved as (
        select m.id, m.scheduled_at, m.hold_reason, h.until
        from free join ${sql.unnest(rows, ['text', 'timestamptz'])} as h (id, until) on h.id = free.id
        join messages m on m.workspace_id = ${db.workspaceId} and m.id = free.id
      )
      update messages m set status = 'scheduled', scheduled_at = moved.until, hold_reason = ${reason}, updated_at = now()
      from moved where m.workspace_id = ${db.workspaceId} and m.id = moved.id
      returning m.id, moved.scheduled_at moved_from, moved.until moved_to, moved.hold_reason is not distinct from ${reason} again`);
    await insertMoves(
      db,
      reason,
      moved.filter(({ again }) => !again),
    );
  }
}

const MovedRow = z.object({ id: z.string(), movedFrom: z.date(), movedTo: z.date() });
const PostponedRow = MovedRow.extend({ again: z.boolean() });

/** Records, for the timelines of messages, that their times were moved. */
async function insertMoves(
  db: TenantDb,
  reason: string,
  moved: readonly z.infer<typeof MovedRow>[],
): Promise<void> {
  if (moved.length === 0) return;
  const rows = moved.map(({ id, movedFrom, movedTo }) => [
    id,
    movedFrom.toISOString(),
    movedTo.toISOString(),
  ]);
  await db.query(sql.type(NoRows)`
    insert into message_moves (workspace_id, message_id, at, moved_from, moved_to, reason)
    select ${db.workspaceId}, v.id, ${sql.timestamp(currentTime())}, v.moved_from, v.moved_to, ${reason}
    from ${sql.unnest(rows, ['text', 'timestamptz', 'timestamptz'])} as v (id, moved_from, moved_to)
    on conflict do nothing ${ROWS_INSERTED}`);
}

/** Whether a message `m` of a campaign goes to a contact with a suspected opt-out. */
const isSuspected = (db: TenantDb) => sql.fragment`(m.campaign_id is not null and exists (
  select from opt_out_suspicions s
  where s.workspace_id = ${db.workspaceId} and s.address = m.address and s.status = 'open'))`;

export const isOneOf = (ids: readonly string[]) => sql.fragment`m.id = any(${sql.array([...ids], 'text')})`;

/** Removes campaign messages to contacts with a suspected opt-out from the queue. Skips locked messages. */
export async function holdSuspected(db: TenantDb, which: ReturnType<typeof sql.fragment>): Promise<void> {
  await db.query(sql.type(NoRows)`
    with free as materialized (
      select m.id from messages m
      where m.workspace_id = ${db.workspaceId} and ${which} and m.status in ('pending', 'scheduled') and not m.held
        and ${isSuspected(db)}
      for no key update of m skip locked
    )
    update messages m set held = true, hold_reason = 'opt_out_suspected', updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id`);
}

/** Moves messages to send as SMS at once to the ends of their recipients' quiet hours. Skips locked messages. */
export async function postponeSmsOnly(db: TenantDb, asleep: ReadonlyMap<string, Date>): Promise<void> {
  if (asleep.size === 0) return;
  const rows = [...asleep].map(([id, until]) => [id, until.toISOString()]);
  const moved = await db.any(sql.type(MovedRow)`
    with free as materialized (${free(db, [...asleep.keys()])}),
    moved as (
      select m.id, m.scheduled_at, a.until
      from free join ${sql.unnest(rows, ['text', 'timestamptz'])} as a (id, until) on a.id = free.id
      join messages m on m.workspace_id = ${db.workspaceId} and m.id = free.id
    )
    update messages m set status = 'scheduled', scheduled_at = moved.until, hold_reason = 'recipient_quiet_hours', updated_at = now()
    from moved where m.workspace_id = ${db.workspaceId} and m.id = moved.id
    returning m.id, moved.scheduled_at moved_from, moved.until moved_to`);
  await insertMoves(db, 'recipient_quiet_hours', moved);
}

/** Like `postponeSmsOnly`, for messages whose fallback SMS is due. */
export async function postponeFallbacks(db: TenantDb, asleep: ReadonlyMap<string, Date>): Promise<void> {
  if (asleep.size === 0) return;
  const rows = [...asleep].map(([id, until]) => [id, until.toISOString()]);
  const moved = await db.any(sql.type(MovedRow)`
    with free as materialized (
      select m.id, m.fallback_at, a.until from ${sql.unnest(rows, ['text', 'timestamptz'])} as a (id, until)
      cross join lateral (
        select id, fallback_at, fallback_sms from messages where workspace_id = ${db.workspaceId} and id = a.id
        offset 0 for no key update skip locked
      ) m
      where m.fallback_sms = 'due' and not exists (
        select from attempts t where t.workspace_id = ${db.workspaceId} and t.message_id = m.id and t.outcome is null)
    )
    update messages m set fallback_at = free.until, hold_reason = 'recipient_quiet_hours', updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id
    returning m.id, free.fallback_at moved_from, free.until moved_to`);
  await insertMoves(db, 'recipient_quiet_hours', moved);
}

/** Moves messages to the lanes for new contacts, because they no longer are answers, or the earlier send failed. */
export async function markNew(db: TenantDb, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.query(sql.type(NoRows)`
    with free as materialized (${free(db, ids)})
    update messages m set is_new = true
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id and not m.is_new`);
}

/** Moves a line's messages to an address to the lanes for known contacts, after they exchanged a message. */
export async function markKnown(db: TenantDb, lineId: string, address: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages m set is_new = false
    where ${queued(db, lineId)} and m.address = ${address} and m.is_new`);
}

/**
 * Like `markKnown`, for addresses that a line is about to write to for the first time.
 * @param except the messages that it sends to them.
 * @returns the addresses with a locked message.
 */
export async function markKnownUnlessBusy(
  db: TenantDb,
  lineId: string,
  addresses: readonly string[],
  except: readonly string[],
): Promise<Set<string>> {
  if (addresses.length === 0) return new Set();
  const busy = await db.anyFirst(sql.type(AddressRow)`
    with others as materialized (
      select m.id, m.address from messages m
      where ${queued(db, lineId)} and m.address = any(${sql.array([...addresses], 'text')}) and m.is_new
        and not m.id = any(${sql.array([...except], 'text')})
    ), free as materialized (
      select m.id from messages m where m.workspace_id = ${db.workspaceId} and m.id in (select id from others)
      for no key update skip locked
    ), known as (
      update messages m set is_new = false from free where m.workspace_id = ${db.workspaceId} and m.id = free.id
    )
    select distinct address from others where id not in (select id from free)`);
  return new Set(busy);
}

/** Records what delayed the messages that are sent now, for their timelines, because a wait itself writes nothing. */
export async function recordMoves(
  db: TenantDb,
  moves: readonly { id: string; to: Date; reason: string }[],
): Promise<void> {
  if (moves.length === 0) return;
  const rows = moves.map(({ id, to, reason }) => [id, to.toISOString(), reason]);
  await db.query(sql.type(NoRows)`
    insert into message_moves (workspace_id, message_id, at, moved_from, moved_to, reason)
    select m.workspace_id, m.id, greatest(m.scheduled_at, m.created_at), m.scheduled_at, v.at, v.reason
    from ${sql.unnest(rows, ['text', 'timestamptz', 'text'])} as v (id, at, reason)
    join messages m on m.workspace_id = ${db.workspaceId} and m.id = v.id
    on conflict do nothing`);
}
