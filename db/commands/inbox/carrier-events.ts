import { followMessageChanges } from '#db/commands/campaigns/lead-changes.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime, fromNow, realTime, toRealTime } from '#domain/base/clock.ts';
import { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { failureSignals } from '#domain/lines/signal-replay.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { emitDelivered, emitMessageEvents } from '#db/commands/messages/message-events.ts';
import { lockContact, lockSequences } from '#db/queries/sending/message-locks.ts';
import { happenedIn, type Happening } from '#db/connection/message-traces.ts';
import { findMessage, MessageRow } from '#db/queries/messages/messages.ts';
import { fail, failOrFallBack, fallBackUnavailable } from '#db/commands/sending/failures.ts';
import { carrierOptOut, sendAgain } from '#db/commands/sending/outcomes.ts';
import { AttemptOutcome } from '#db/queries/sending/attempts.ts';
import { keptOthersSince } from '#db/queries/sending/call-history.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { applyGroupReaction, applyReaction } from './reactions.ts';
import {
  advanceMessage,
  correctTransport,
  explainFailure,
  markDelivered,
} from '#db/queries/sending/sends.ts';

/** The events about an outbound message. */
type MessageEvent = Extract<CarrierEvent, { kind: 'receipt' | 'read' | 'reaction' }>;

/** An event about a line. */
export interface LineEvent<Event extends CarrierEvent = CarrierEvent> {
  lineId: string;
  event: Event;
  /** Default: here. */
  happenedIn?: Happening;
}

const EventKeyRow = z.object({ lineId: z.string(), eventId: z.string() });

/**
 * Records events, before they are applied in the same transaction.
 * @param early events whose message is not known yet; they are kept until it is.
 * @returns those that were not recorded before. The others must be ignored.
 */
export async function recordCarrierEvents<Reported extends LineEvent>(
  db: TenantDb,
  reported: readonly Reported[],
  early: ReadonlySet<Reported> = new Set(),
): Promise<Reported[]> {
  const rows = reported.map((one) => [
    one.lineId,
    one.event.eventId,
    ...(early.has(one) ? [carrierMessageOf(one).carrierMessageId, waitingOf(one.event)] : [null, null]),
  ]);
  const recorded = await db.any(sql.type(EventKeyRow)`
    insert into carrier_events (workspace_id, line_id, event_id, carrier_message_id, waiting)
    select distinct on (r.line_id, r.event_id) ${db.workspaceId}, r.*
    from ${sql.unnest(rows, ['text', 'text', 'text', 'jsonb'])} as r (line_id, event_id, carrier_id, waiting)
    order by r.line_id, r.event_id
    on conflict do nothing returning line_id, event_id`);
  const isNew = new Set(recorded.map(({ lineId, eventId }) => `${lineId} ${eventId}`));
  // Of repetitions in one batch, the first counts.
  return reported.filter(({ lineId, event }) => isNew.delete(`${lineId} ${event.eventId}`));
}

/** The message or call that an event is about. */
export const carrierMessageOf = ({ lineId, event }: LineEvent): CarrierMessage => ({
  lineId,
  carrierMessageId:
    event.kind === 'call' || event.kind === 'recording' ? event.callId : event.carrierMessageId,
});

/** The event as the column `waiting` keeps it. */
const waitingOf = (event: CarrierEvent): string => JSON.stringify({ ...event, at: event.at.toISOString() });

const SentAttemptRow = z.object({
  id: z.string(),
  messageId: z.string(),
  kind: z.string(),
  address: z.string(),
  outcome: AttemptOutcome.nullable(),
});
type SentAttempt = z.infer<typeof SentAttemptRow>;

/** A receipt that reports only the delivery of a message. */
export type Delivered = Extract<CarrierEvent, { kind: 'receipt' }> & { status: 'delivered' };

export const isDelivered = (one: LineEvent): one is LineEvent<Delivered> =>
  one.event.kind === 'receipt' && one.event.status === 'delivered' && !endsContact(one.event);

const DeliveredAttemptRow = z.object({
  lineId: z.string(),
  carrierMessageId: z.string(),
  messageId: z.string(),
  kind: z.string(),
  outcome: AttemptOutcome.nullable(),
});

const isOfMessage = (one: LineEvent): one is LineEvent<MessageEvent> =>
  one.event.kind === 'receipt' || one.event.kind === 'read' || one.event.kind === 'reaction';

export const carrierMessageKey = ({ lineId, carrierMessageId }: CarrierMessage): string =>
  `${lineId} ${carrierMessageId}`;

/** Records and applies receipts of many messages. Those that come before the response to their send are kept until then. */
export async function receiveReceipts(
  db: TenantDb,
  receipts: readonly LineEvent<Delivered>[],
): Promise<void> {
  await lockCarrierMessages(db, receipts.map(carrierMessageOf));
  const attempts = await attemptsOf(db, receipts);
  const early = new Set(
    receipts.filter((receipt) => !attempts.has(carrierMessageKey(carrierMessageOf(receipt)))),
  );
  await markMessagesDelivered(db, await recordCarrierEvents(db, receipts, early), attempts);
}

/** Like `applyMessageEvent`, for receipts of many messages. */
async function applyDelivered(db: TenantDb, receipts: readonly LineEvent<Delivered>[]): Promise<void> {
  if (receipts.length === 0) return;
  const attempts = await attemptsOf(db, receipts);
  for (const receipt of receipts) {
    if (!attempts.has(carrierMessageKey(carrierMessageOf(receipt)))) await deferEvent(db, receipt);
  }
  await markMessagesDelivered(db, receipts, attempts);
}

type DeliveredAttempt = z.infer<typeof DeliveredAttemptRow>;

async function attemptsOf(
  db: TenantDb,
  receipts: readonly LineEvent<Delivered>[],
): Promise<ReadonlyMap<string, DeliveredAttempt>> {
  const attempts = await db.any(sql.type(DeliveredAttemptRow)`
    select r.line_id, r.carrier_message_id, a.message_id, a.kind, a.outcome
    from ${carrierMessages(receipts.map(carrierMessageOf))} cross join lateral (
      select message_id, kind, outcome from attempts
      where workspace_id = ${db.workspaceId} and line_id = r.line_id and carrier_message_id = r.carrier_message_id offset 0
    ) a`);
  return new Map(attempts.map((attempt) => [carrierMessageKey(attempt), attempt]));
}

/** Leaves out receipts for a fallback SMS, and for an attempt that the carrier says it did not send, see `applyMessageEvent`. */
async function markMessagesDelivered(
  db: TenantDb,
  receipts: readonly LineEvent<Delivered>[],
  attempts: ReadonlyMap<string, DeliveredAttempt>,
): Promise<void> {
  const delivered = receipts.flatMap((receipt) => {
    const attempt = attempts.get(carrierMessageKey(carrierMessageOf(receipt)));
    if (!attempt || attempt.kind === 'fallback' || attempt.outcome === 'transient') return [];
    const { at, transport } = receipt.event;
    return [{ id: attempt.messageId, at, transport, happenedIn: receipt.happenedIn ?? happenedIn() }];
  });
  if (delivered.length === 0) return;
  const now = currentTime();
  await followMessageChanges(
    db,
    delivered.map(({ id }) => id),
    now,
  );
  await emitDelivered(db, await markDelivered(db, delivered), now);
}

/**
 * Applies a receipt, a read or a reaction. An event that arrives before the response to its send is kept until then.
 * Requires the message's lock.
 */
export async function applyMessageEvent(
  db: TenantDb,
  lineId: string,
  event: MessageEvent,
  now: Date,
): Promise<void> {
  const attempt = await db.maybeOne(sql.type(SentAttemptRow)`
    select id, message_id, kind, address, outcome from attempts
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${event.carrierMessageId}`);
  if (!attempt) {
    if (event.kind === 'reaction' && (await applyGroupReaction(db, lineId, event, now))) return;
    return deferEvent(db, { lineId, event });
  }
  const { messageId } = attempt;
  // Attempts of the previous release have the number as it was written.
  const address = contactKey(attempt.address);
  if (event.kind === 'reaction') return applyReaction(db, messageId, event, now);
  if (event.kind === 'receipt' && endsContact(event)) {
    await lockContact(db, address, [messageId]);
    await carrierOptOut(db, { address, id: messageId }, now, event.complaint ? 'complaint' : 'carrier');
    if (event.optedOut) db.lineSignals.add(lineId, now, { optouts: 1 });
  }
  // A receipt for a fallback SMS does not change the message, whose status stays `fallback`.
  if (attempt.kind === 'fallback') return;
  // The carrier has said that it did not send this one, and another attempt has taken its place.
  if (attempt.outcome === 'transient') return;
  await followMessageChanges(db, [messageId], now);
  if (event.kind === 'read') await markRead(db, messageId, event, now);
  else await applyReceipt(db, lineId, attempt, event, now);
}

/** Whether nothing more may be sent to the address. */
export const endsContact = (event: CarrierEvent): boolean =>
  event.kind === 'receipt' && Boolean(event.optedOut || event.deadAddress || event.complaint);

/** A message or call by the id that its carrier gave it. */
export interface CarrierMessage {
  lineId: string;
  carrierMessageId: string;
}

/** SQL for the messages as rows `r`. */
const carrierMessages = (messages: readonly CarrierMessage[]) =>
  sql.fragment`${sql.unnest(
    messages.map(({ lineId, carrierMessageId }) => [lineId, carrierMessageId]),
    ['text', 'text'],
  )} as r (line_id, carrier_message_id)`;

/** Serializes settling a send and receiving events about it, so that neither misses the other. */
export async function lockCarrierMessages(db: TenantDb, messages: readonly CarrierMessage[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended(line_id || ' ' || carrier_message_id, 0) "key" from ${carrierMessages(messages)}
      order by "key"
    ) keys`);
}

const DAY_MS = 86_400_000;
/** The time within which carriers report everything about a reply or a call. */
const REPORTED_WITHIN_MS = 7 * DAY_MS;

/** Limits a query to the partitions of certain days, independently of the database's clock and time zone. */
const receivedSince = (since: Date) => {
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
  return sql.fragment`received_on between ${day(toRealTime(since).getTime() - DAY_MS)}::date and ${day(realTime().getTime() + DAY_MS)}::date`;
};

/**
 * Recorded events `e` of one line. An update that joins a list of events instead may read all events of the workspace
 * for each: the planner assumes that a workspace newer than the partition's statistics is empty.
 */
const recordedEvents = (
  db: TenantDb,
  lineId: string,
  eventIds: readonly string[],
  since: Date,
) => sql.fragment`
  e.workspace_id = ${db.workspaceId} and e.line_id = ${lineId} and e.event_id = any(${sql.array([...eventIds], 'text')})
    and e.${receivedSince(since)}`;

const EventIdRow = z.object({ eventId: z.string() });

/** Those of the events that were recorded within the time in which a carrier lists them again. */
export async function recordedAmong(
  db: TenantDb,
  lineId: string,
  eventIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (eventIds.length === 0) return new Set();
  const known = await db.anyFirst(sql.type(EventIdRow)`
    select event_id from carrier_events e
    where ${recordedEvents(db, lineId, eventIds, fromNow(-REPORTED_WITHIN_MS))}`);
  return new Set(known);
}

/** Keeps a recorded event until its message or call is known. */
export async function deferEvent(db: TenantDb, early: LineEvent): Promise<void> {
  const { lineId, event } = early;
  await db.query(sql.type(NoRows)`
    update carrier_events e set carrier_message_id = ${carrierMessageOf(early).carrierMessageId}, waiting = ${waitingOf(event)}::jsonb
    where ${recordedEvents(db, lineId, [event.eventId], currentTime())}`);
}

const WaitingRow = z.object({ lineId: z.string(), eventId: z.string(), event: CarrierEvent });

/**
 * Takes the kept events of messages or calls, in the order in which they happened.
 * @param since the earliest time at which a carrier can have reported one.
 */
export async function takeDeferredEvents(
  db: TenantDb,
  messages: readonly CarrierMessage[],
  since: Date = fromNow(-REPORTED_WITHIN_MS),
): Promise<readonly LineEvent[]> {
  const found = await db.any(sql.type(WaitingRow)`
    select r.line_id, e.event_id, e.waiting event from ${carrierMessages(messages)} cross join lateral (
      select event_id, waiting from carrier_events e
      where e.workspace_id = ${db.workspaceId} and e.line_id = r.line_id and e.carrier_message_id = r.carrier_message_id
        and e.waiting is not null and e.${receivedSince(since)}
      for update
    ) e
    order by e.waiting ->> 'at'`);
  for (const [lineId, ofLine] of Map.groupBy(found, (taken) => taken.lineId)) {
    const eventIds = ofLine.map(({ eventId }) => eventId);
    await db.query(sql.type(NoRows)`
      update carrier_events e set waiting = null where ${recordedEvents(db, lineId, eventIds, since)}`);
  }
  return found;
}

/**
 * Finds the receipts of messages whose carrier reports first that they have arrived, by message (`carrierMessageKey`): a message
 * that has failed does not arrive. Nothing has to be applied before them.
 * @param early from `takeDeferredEvents`.
 */
export function firstReceipts(early: readonly LineEvent[]): ReadonlyMap<string, LineEvent<Delivered>> {
  const firsts = new Map<string, LineEvent<Delivered>>();
  for (const one of early.filter(isOfMessage).toReversed()) {
    const key = carrierMessageKey(carrierMessageOf(one));
    if (isDelivered(one)) firsts.set(key, one);
    else firsts.delete(key);
  }
  return firsts;
}

/** Applies events that arrived before the response to the send. @param early from `takeDeferredEvents`. */
export async function applyEarlyEvents(db: TenantDb, early: readonly LineEvent[], now: Date): Promise<void> {
  const delivered = [...firstReceipts(early).values()];
  await applyDelivered(db, delivered);
  for (const one of early.filter(isOfMessage)) {
    if (!delivered.some((first) => first === one)) await applyMessageEvent(db, one.lineId, one.event, now);
  }
}

/** The error of a message whose carrier gives no reason. */
const NO_REASON = 'undeliverable';

async function applyReceipt(
  db: TenantDb,
  lineId: string,
  { id: attemptId, messageId, address }: SentAttempt,
  {
    status,
    reason,
    optedOut,
    complaint,
    unavailable,
    ofLine,
    transport,
    at,
  }: Extract<MessageEvent, { kind: 'receipt' }>,
  now: Date,
): Promise<void> {
  if (status === 'delivered') {
    const delivered = await markDelivered(db, [{ id: messageId, at, transport, happenedIn: happenedIn() }]);
    await emitDelivered(db, delivered, now);
    return;
  }
  await lockSequences(db, [messageId]);
  await correctTransport(db, messageId, transport);
  const message = await findMessage(db, messageId);
  const isUnexplained = message?.status === 'failed' && message.errorMessage === NO_REASON;
  if (isUnexplained && reason !== undefined && !isErased(message.address))
    await explainFailure(db, messageId, reason);
  if (message?.status !== 'sent') return;
  const cause = optedOut ? 'recipient_opted_out' : (reason ?? NO_REASON);
  const { lineId: sender } = message;
  const wakePacer = (): void => {
    if (sender !== null) wake(db, linePacerId(sender), now, 'messagesDue');
  };
  // One that is returned again while others are not has failed for its recipient only.
  if (ofLine && !(await keptOthersSince(db, { lineId, messageId, address }, now))) {
    await sendAgain(db, message, { attemptId, reason: cause }, now);
    return wakePacer();
  }
  if (unavailable) {
    await fallBackUnavailable(db, message, cause, now);
    return wakePacer();
  }
  if (!optedOut) db.lineSignals.add(lineId, now, failureSignals(message.channel, cause, 'undelivered'));
  if (optedOut || complaint) return fail(db, message, cause, now);
  if (await failOrFallBack(db, message, cause, now)) wakePacer();
}

async function markRead(
  db: TenantDb,
  messageId: string,
  { at, transport }: Extract<MessageEvent, { kind: 'read' }>,
  now: Date,
): Promise<void> {
  await correctTransport(db, messageId, transport);
  const delivered = await advanceMessage(db, messageId, ['sent'], { to: 'delivered', deliveredAt: at });
  if (delivered) await emitDelivered(db, [delivered], now);
  const read = await db.maybeOne(sql.type(MessageRow)`
    update messages set read_at = ${sql.timestamp(at)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${messageId} and read_at is null
    returning *`);
  if (!read) return;
  const change = { event: 'message.opened' as const, message: read, data: { readAt: at.toISOString() } };
  await emitMessageEvents(db, [change], now);
}
