import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { signalDay } from '#domain/lines/line-signals.ts';
import type { StoredStatus } from '#domain/messages/message-status.ts';
import type { AttemptRow } from './attempts.ts';
import {
  DISPATCHED_AT,
  IS_BY_MEMBER,
  IS_DISPATCHED,
  IS_SET_ASIDE,
  IS_WRITTEN,
  MessageRow,
  WRITTEN_AT,
} from '../messages/messages.ts';
import { type Happening, traceMoment } from '#db/connection/message-traces.ts';
import { AddressRow, NoRows } from '#db/connection/rows.ts';
import type { Transport } from '#domain/messages/transport.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { campaignAllowsSending } from './queue.ts';
import { free } from './queue-changes.ts';

/** Sets messages to `sending`. Skips those that were canceled or paused in the meantime, or are locked. */
export async function startSending(db: TenantDb, ids: readonly string[]): Promise<MessageRow[]> {
  const rows = await db.any(sql.type(MessageRow)`
    with free as materialized (${free(db, ids)})
    update messages m set status = 'sending', hold_reason = null, updated_at = now()
    from free where m.workspace_id = ${db.workspaceId} and m.id = free.id and ${campaignAllowsSending(db)}
    returning m.*`);
  return [...rows];
}

const BubbleRow = MessageRow.extend({ contactLastSentAt: z.date().nullable() });

/** Due bubbles that nobody has locked, with when their contacts were last sent one. Locks them. */
export async function lockBubbles(
  db: TenantDb,
  ids: readonly string[],
): Promise<readonly z.infer<typeof BubbleRow>[]> {
  return db.any(sql.type(BubbleRow)`
    select m.*, (
      select c.last_outbound_at from conversations c
      where c.workspace_id = m.workspace_id and c.address = m.address) contact_last_sent_at
    from messages m
    where m.workspace_id = ${db.workspaceId} and m.id = any(${sql.array([...ids], 'text')}) and m.held and m.hold_reason is null
      and m.status in ('pending', 'scheduled')
    order by m.id for no key update of m skip locked`);
}

/** Takes bubbles out of the hold in which they wait for the one before. Requires their locks. */
export async function endHold(db: TenantDb, ids: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set held = false, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})`);
}

/**
 * Locks the conversations with these addresses without waiting, because waiting could deadlock: whoever
 * has locked a conversation may need messages that this round has locked.
 * @returns the addresses whose conversation is locked.
 */
export async function lockConversations(db: TenantDb, addresses: readonly string[]): Promise<Set<string>> {
  const these = sql.fragment`workspace_id = ${db.workspaceId} and address = any(${sql.array([...new Set(addresses)], 'text')})`;
  const busy = await db.anyFirst(sql.type(AddressRow)`
    with locked as materialized (select address from conversations where ${these} for no key update skip locked)
    select address from conversations where ${these} and address not in (select address from locked)`);
  return new Set(busy);
}

const UnansweredRow = z.object({ address: z.string(), unanswered: z.int() });

/**
 * Records that the line wrote to these addresses, for new conversations, contact gaps, stickiness and reputation.
 * @param opened those with which it opens a conversation.
 * @param answeredAt when somebody wrote what is sent to them.
 * @param byMember those to whom a member writes.
 * @returns how many messages in a row each has not answered, with these.
 */
export async function recordOutbound(
  db: TenantDb,
  lineId: string,
  addresses: readonly string[],
  {
    opened,
    answeredAt,
    byMember,
  }: { opened: ReadonlySet<string>; answeredAt: ReadonlyMap<string, Date>; byMember: ReadonlySet<string> },
  now: Date,
): Promise<readonly z.infer<typeof UnansweredRow>[]> {
  const counts = Map.groupBy(addresses, (address) => address);
  const sorted = [...counts.keys()].toSorted();
  await db.query(sql.type(NoRows)`
    insert into line_contacts (workspace_id, line_id, address, since, opened_on)
    select ${db.workspaceId}, ${lineId}, a, ${sql.timestamp(now)}, case when opened then ${signalDay(now)}::date end
    from ${sql.unnest(
      sorted.map((a) => [a, opened.has(a)]),
      ['text', 'bool'],
    )} as t (a, opened)
    on conflict do nothing`);
  return db.any(sql.type(UnansweredRow)`
    insert into conversations (workspace_id, address, line_id, last_outbound_at, answered_at, member_answered_at, unanswered)
    select ${db.workspaceId}, a, ${lineId}, ${sql.timestamp(now)}, answered_at,
      case when by_member then ${sql.timestamp(now)} end, n
    from ${sql.unnest(
      sorted.map((a) => [
        a,
        answeredAt.get(a)?.toISOString() ?? null,
        byMember.has(a),
        counts.get(a)?.length ?? 0,
      ]),
      ['text', 'timestamptz', 'bool', 'int4'],
    )} as t (a, answered_at, by_member, n)
    on conflict (workspace_id, address) do update
      set last_outbound_at = excluded.last_outbound_at, line_id = coalesce(conversations.line_id, excluded.line_id),
        answered_at = greatest(excluded.answered_at, conversations.answered_at),
        member_answered_at = coalesce(excluded.member_answered_at, conversations.member_answered_at),
        unanswered = conversations.unanswered + excluded.unanswered
    returning address, unanswered`);
}

/** Records that a contact was reached by a send that its claim did not record, or whose record was reverted. Locks the conversation. */
export async function recordReached(
  db: TenantDb,
  { messageId, lineId, startedAt }: Pick<AttemptRow, 'messageId' | 'lineId' | 'startedAt'>,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into conversations as c (workspace_id, address, line_id, last_outbound_at, answered_at, member_answered_at)
    select workspace_id, address, ${lineId}, ${sql.timestamp(startedAt)}, case when ${IS_WRITTEN} then created_at end,
      case when ${IS_BY_MEMBER} then ${sql.timestamp(startedAt)} end
    from messages
    where workspace_id = ${db.workspaceId} and id = ${messageId} and not starts_with(address, 'erased:')
    on conflict (workspace_id, address) do update
      set last_outbound_at = greatest(c.last_outbound_at, excluded.last_outbound_at),
        answered_at = greatest(c.answered_at, excluded.answered_at),
        member_answered_at = greatest(c.member_answered_at, excluded.member_answered_at), line_id = coalesce(c.line_id, excluded.line_id)`);
}

/**
 * Records that a person wrote to an address from the device of a line, possibly some time ago. Locks the conversation.
 * @returns whether it is the first message that the line exchanges with the address.
 */
export async function recordOwnMessage(
  db: TenantDb,
  lineId: string,
  address: string,
  at: Date,
): Promise<boolean> {
  await db.query(sql.type(NoRows)`
    insert into conversations as c (workspace_id, address, line_id, last_outbound_at, answered_at, member_answered_at)
    values (${db.workspaceId}, ${address}, ${lineId}, ${sql.timestamp(at)}, ${sql.timestamp(at)}, ${sql.timestamp(at)})
    on conflict (workspace_id, address) do update
      set last_outbound_at = greatest(c.last_outbound_at, excluded.last_outbound_at),
        answered_at = greatest(c.answered_at, excluded.answered_at),
        member_answered_at = greatest(c.member_answered_at, excluded.member_answered_at), line_id = coalesce(c.line_id, excluded.line_id)`);
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into line_contacts (workspace_id, line_id, address, since, opened_on)
    values (${db.workspaceId}, ${lineId}, ${address}, ${sql.timestamp(at)}, ${signalDay(at)}::date)
    on conflict do nothing`);
  return rowCount > 0;
}

/**
 * Reverts `recordOutbound` for an attempt that was not sent.
 * @returns how many messages in a row the contact has not answered without it; null: they have answered since.
 */
export async function revertOutbound(
  db: TenantDb,
  attempt: Pick<AttemptRow, 'messageId' | 'lineId' | 'address' | 'isNew' | 'startedAt' | 'contactLastSentAt'>,
): Promise<number | null> {
  const { messageId, lineId, address, isNew, startedAt, contactLastSentAt } = attempt;
  if (isNew) {
    // A contact who wrote meanwhile is known to the line by that.
    await db.query(sql.type(NoRows)`
      delete from line_contacts where workspace_id = ${db.workspaceId} and line_id = ${lineId}
        and address = ${address} and since = ${sql.timestamp(startedAt)}
        and not exists (
          select from inbound_messages i
          where i.workspace_id = ${db.workspaceId} and i.line_id = ${lineId} and i.address = ${address}
            and i.created_at >= ${sql.timestamp(startedAt)}
        )`);
  }
  await db.query(sql.type(NoRows)`
    update conversations set last_outbound_at = ${contactLastSentAt && sql.timestamp(contactLastSentAt)}
    where workspace_id = ${db.workspaceId} and address = ${address} and last_outbound_at = ${sql.timestamp(startedAt)}`);
  await db.query(sql.type(NoRows)`
    update conversations c set answered_at = (
      select max(${WRITTEN_AT}) from messages m
      where m.workspace_id = c.workspace_id and m.address = c.address and m.id <> ${messageId} and ${IS_DISPATCHED} and ${IS_WRITTEN})
    where workspace_id = ${db.workspaceId} and address = ${address} and answered_at <= ${sql.timestamp(startedAt)} and exists (
      select from messages where workspace_id = ${db.workspaceId} and id = ${messageId} and ${IS_WRITTEN})`);
  await db.query(sql.type(NoRows)`
    update conversations c set member_answered_at = (
      select max(${DISPATCHED_AT}) from messages m
      where m.workspace_id = c.workspace_id and m.address = c.address and ${IS_DISPATCHED} and ${IS_BY_MEMBER}
        and ${DISPATCHED_AT} < ${sql.timestamp(startedAt)})
    where workspace_id = ${db.workspaceId} and address = ${address} and member_answered_at = ${sql.timestamp(startedAt)}`);
  const reverted = await db.maybeOne(sql.type(UnansweredRow)`
    update conversations set unanswered = unanswered - 1
    where workspace_id = ${db.workspaceId} and address = ${address} and unanswered > 0
    returning address, unanswered`);
  return reverted?.unanswered ?? null;
}

export interface StatusChange {
  to: StoredStatus;
  sentAt?: Date | null;
  sentText?: string | null;
  deliveredAt?: Date;
  errorMessage?: string;
  carrierMessageId?: string | null;
  /** For a message that returns to the queue. */
  scheduledAt?: Date;
  holdReason?: string;
  countTransientFailure?: boolean;
  /** Takes it from the queue of its line until it is released. */
  held?: boolean;
  /** Queues a fallback SMS, which may be sent from then on. */
  fallbackAt?: Date;
}

/**
 * Changes the status of a message; after intake, only this function, `markSent` and `markDelivered` do. The database also
 * refuses steps backwards.
 * @param from the statuses in which the change applies.
 * @returns the updated message; null if its status was another.
 */
export async function advanceMessage(
  db: TenantDb,
  id: string,
  from: readonly StoredStatus[],
  change: StatusChange,
): Promise<MessageRow | null> {
  const set = (column: string, value: string | null | undefined) =>
    value === undefined ? [] : [sql.fragment`${sql.identifier([column])} = ${value}`];
  const at = (column: string, value: Date | null | undefined) =>
    value === undefined ? [] : [sql.fragment`${sql.identifier([column])} = ${value && sql.timestamp(value)}`];
  const assignments = [
    sql.fragment`status = ${change.to}, updated_at = now(), hold_reason = ${change.holdReason ?? null}`,
    ...at('sent_at', change.sentAt),
    ...at('delivered_at', change.deliveredAt),
    ...at('scheduled_at', change.scheduledAt),
    ...set('sent_text', change.sentText),
    ...set('error_message', change.errorMessage),
    ...set('carrier_message_id', change.carrierMessageId),
    ...(change.fallbackAt ? [sql.fragment`fallback_sms = 'due'`] : []),
    ...at('fallback_at', change.fallbackAt),
    ...(change.held === undefined ? [] : [sql.fragment`held = ${change.held}`]),
    ...(change.countTransientFailure ? [sql.fragment`transient_failures = transient_failures + 1`] : []),
  ];
  const advanced = await db.maybeOne(sql.type(MessageRow)`
    update messages set ${sql.join(assignments, sql.fragment`, `)}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = any(${sql.array([...from], 'text')})
    returning *`);
  if (advanced) traceMoment(db, id, `message ${change.to}`);
  return advanced;
}

/** Puts a message that is set aside back into the queue of its line. */
export async function retrySetAside(db: TenantDb, id: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set held = false, hold_reason = 'carrier_pause', updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} and ${IS_SET_ASIDE}`);
}

/** Messages with a status, locked in the order in which everybody locks them, as `m`. */
const lockedIn = (db: TenantDb, status: StoredStatus, ids: readonly string[]) => sql.fragment`
  select m.id from messages m
  where m.workspace_id = ${db.workspaceId} and m.id = any(${sql.array([...ids], 'text')}) and m.status = ${status}
  order by m.id for no key update`;

/** A message that a carrier has accepted. */
export interface SentMessage {
  id: string;
  carrierMessageId: string;
  /** Null: the carrier does not say it. */
  transport: Transport | null;
  sentAt: Date;
  /** When it arrived, if the carrier has reported that already. */
  deliveredAt: Date | null;
  /** Null: no longer known. */
  text: string | null;
  happenedIn: Happening;
}

/** Like `advanceMessage` from `sending` to `sent`, and to `delivered` if it has arrived, for many messages. */
export async function markSent(db: TenantDb, sent: readonly SentMessage[]): Promise<readonly MessageRow[]> {
  const rows = sent.map(({ id, carrierMessageId, transport, sentAt, deliveredAt, text }) => [
    id,
    carrierMessageId,
    sentAt.toISOString(),
    deliveredAt?.toISOString() ?? null,
    text,
    transport,
  ]);
  const ids = sent.map(({ id }) => id);
  const marked = await db.any(sql.type(MessageRow)`
    with locked as materialized (${lockedIn(db, 'sending', ids)})
    update messages m set status = case when r.delivered_at is null then 'sent' else 'delivered' end,
      updated_at = now(), hold_reason = null, sent_at = r.at, delivered_at = r.delivered_at,
      carrier_message_id = r.carrier_message_id, transport = r.transport, sent_text = coalesce(nullif(r.text, m.body), m.sent_text)
    from locked join ${sql.unnest(rows, ['text', 'text', 'timestamptz', 'timestamptz', 'text', 'text'])}
      as r (id, carrier_message_id, at, delivered_at, text, transport) on r.id = locked.id
    where m.workspace_id = ${db.workspaceId} and m.id = locked.id
    returning m.*`);
  traceMoments(db, 'message sent', sent, marked);
  for (const { id, deliveredAt } of marked) if (deliveredAt) traceMoment(db, id, 'message delivered');
  return marked;
}

/** Sets messages that wait to `sending`, also if they are held or their campaign is paused: they have left already. Requires their locks. */
export async function takeFromQueue(db: TenantDb, ids: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set status = 'sending', held = false, hold_reason = null, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})
      and status in ('pending', 'scheduled')`);
}

/**
 * Like `advanceMessage` from `sent` to `delivered`, for many messages. One that has failed stays `failed`, and shows when it was
 * reported as delivered.
 * @returns those that are delivered now.
 */
export async function markDelivered(
  db: TenantDb,
  delivered: readonly {
    id: string;
    at: Date;
    /** Default: as it was sent. */
    transport?: Transport | undefined;
    happenedIn: Happening;
  }[],
): Promise<readonly MessageRow[]> {
  if (delivered.length === 0) return [];
  const rows = delivered.map(({ id, at, transport = null }) => [id, at.toISOString(), transport]);
  const ids = delivered.map(({ id }) => id);
  const marked = await db.any(sql.type(MessageRow)`
    with locked as materialized (${lockedIn(db, 'sent', ids)})
    update messages m set status = 'delivered', updated_at = now(), hold_reason = null, delivered_at = r.at,
      transport = coalesce(r.transport, m.transport)
    from locked join ${sql.unnest(rows, ['text', 'timestamptz', 'text'])} as r (id, at, transport) on r.id = locked.id
    where m.workspace_id = ${db.workspaceId} and m.id = locked.id
    returning m.*`);
  traceMoments(db, 'message delivered', delivered, marked);
  if (marked.length === delivered.length) return marked;
  await db.query(sql.type(NoRows)`
    with locked as materialized (${lockedIn(db, 'failed', ids)})
    update messages m set delivered_at = r.at, transport = coalesce(r.transport, m.transport)
    from locked join ${sql.unnest(rows, ['text', 'timestamptz', 'text'])} as r (id, at, transport) on r.id = locked.id
    where m.workspace_id = ${db.workspaceId} and m.id = locked.id and m.delivered_at is null`);
  return marked;
}

/** Stores how a message has travelled, if its carrier tells only after it was sent. */
export async function correctTransport(
  db: TenantDb,
  id: string,
  transport: Transport | undefined,
): Promise<void> {
  if (transport === undefined) return;
  await db.query(sql.type(NoRows)`
    update messages set transport = ${transport}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} and sent_at is not null and transport is distinct from ${transport}`);
}

/** Replaces the error of a failed message, if its carrier gives the reason later. */
export async function explainFailure(db: TenantDb, id: string, reason: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set error_message = ${reason}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'failed'`);
}

/** Messages that change together do not happen in the same request or activity. */
function traceMoments(
  db: TenantDb,
  name: string,
  changes: readonly { id: string; happenedIn: Happening }[],
  changed: readonly { id: string }[],
): void {
  const links = new Map(changes.map((change) => [change.id, change.happenedIn]));
  for (const { id } of changed) traceMoment(db, id, name, links.get(id));
}

/**
 * Locks a message whose fallback SMS the line owes.
 * @returns null if it owes none any more, or if another transaction has locked the message.
 */
export const lockDueFallback = (
  db: TenantDb,
  lineId: string,
  messageId: string,
): Promise<MessageRow | null> =>
  db.maybeOne(sql.type(MessageRow)`
    select * from messages
    where workspace_id = ${db.workspaceId} and id = ${messageId} and line_id = ${lineId} and fallback_sms = 'due'
    for no key update skip locked`);

/** Ends a fallback SMS that is due, with its text and time if it was sent. */
export async function endFallbackSms(
  db: TenantDb,
  messageId: string,
  result: 'dispatched' | 'failed',
  sentText: string | null = null,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set fallback_sms = ${result}, hold_reason = null, sent_text = coalesce(${sentText}, sent_text), updated_at = now(),
      fallback_at = ${result === 'dispatched' ? sql.timestamp(currentTime()) : sql.fragment`fallback_at`}
    where workspace_id = ${db.workspaceId} and id = ${messageId} and fallback_sms = 'due'`);
}

/** Postpones a fallback SMS that is due. */
export async function retryFallbackSms(db: TenantDb, messageId: string, at: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update messages set fallback_at = ${sql.timestamp(at)}, hold_reason = null, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${messageId} and fallback_sms = 'due'`);
}
