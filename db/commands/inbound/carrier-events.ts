import { sql } from 'slonik';
import { z } from 'zod';
import { CarrierEvent } from '#domain/carrier-event.ts';
import { emitMessageEvents } from '#db/commands/sending/message-events.ts';
import { lockContact, lockSequences } from '#db/queries/message-locks.ts';
import { findMessage, MessageRow } from '#db/queries/messages.ts';
import { carrierOptOut, fail, fallBack } from '#db/commands/sending/outcomes.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { applyReaction } from './reactions.ts';
import { advanceMessage } from '#db/queries/sends.ts';

/** The events about an outbound message. */
type MessageEvent = Extract<CarrierEvent, { kind: 'receipt' | 'read' | 'reaction' }>;

const EventIdRow = z.object({ eventId: z.string() });

/**
 * Records an event before it is applied in the same transaction.
 * @returns false if it was recorded before and must be ignored.
 */
export async function recordCarrierEvent(
  db: TenantDb,
  lineId: string,
  event: CarrierEvent,
): Promise<boolean> {
  const noted = await db.maybeOne(sql.type(EventIdRow)`
    insert into carrier_events (workspace_id, line_id, event_id) values (${db.workspaceId}, ${lineId}, ${event.eventId})
    on conflict do nothing returning event_id`);
  return noted !== null;
}

const SentAttemptRow = z.object({ messageId: z.string(), kind: z.string(), address: z.string() });

/** Applies a receipt, a read or a reaction. An event that arrives before the response to its send is kept until then. */
export async function applyMessageEvent(
  db: TenantDb,
  lineId: string,
  event: MessageEvent,
  now: Date,
): Promise<void> {
  await lockCarrierMessage(db, lineId, event.carrierMessageId);
  const attempt = await db.maybeOne(sql.type(SentAttemptRow)`
    select message_id, kind, address from attempts
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${event.carrierMessageId}`);
  if (!attempt) return deferEvent(db, lineId, event.carrierMessageId, event);
  const { messageId, address } = attempt;
  if (event.kind === 'reaction') return applyReaction(db, messageId, event, now);
  if (endsContact(event)) {
    await lockContact(db, address, [messageId]);
    await carrierOptOut(db, { address, id: messageId }, now);
  }
  // A receipt for a fallback SMS does not change the message, whose status stays `fallback`.
  if (attempt.kind === 'fallback') return;
  if (event.kind === 'read') await markRead(db, messageId, event.at, now);
  else await applyReceipt(db, messageId, event, now);
}

/** Whether nothing more may be sent to the address. */
export const endsContact = (event: CarrierEvent): boolean =>
  event.kind === 'receipt' && (event.optedOut === true || event.deadAddress === true);

/** Serializes settling a send and applying its events, so that neither misses the other. */
export async function lockCarrierMessage(
  db: TenantDb,
  lineId: string,
  carrierMessageId: string,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    select pg_advisory_xact_lock(hashtextextended(${`${lineId} ${carrierMessageId}`}, 0))`);
}

const DAY_MS = 86_400_000;
/** Carriers report everything about a reply or a call within this time. */
const REPORTED_WITHIN_MS = 7 * DAY_MS;

/** Limits a query to the partitions of certain days, independently of the database's clock and time zone. */
const receivedSince = (since: Date) => {
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
  return sql.fragment`received_on between ${day(since.getTime() - DAY_MS)}::date and ${day(Date.now() + DAY_MS)}::date`;
};

/** Keeps an event until its message or call is known. @param carrierId the carrier's id of the message or call. */
export async function deferEvent(
  db: TenantDb,
  lineId: string,
  carrierId: string,
  event: CarrierEvent,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update carrier_events set carrier_message_id = ${carrierId}, waiting = ${sql.jsonb({ ...event, at: event.at.toISOString() })}
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and event_id = ${event.eventId}
      and ${receivedSince(new Date())}`);
}

const WaitingRow = z.object({ waiting: CarrierEvent });

/**
 * Takes the kept events of a message or a call, in the order in which they happened.
 * @param since the earliest time at which the carrier can have reported one.
 */
export async function takeDeferredEvents(
  db: TenantDb,
  lineId: string,
  carrierMessageId: string,
  since: Date = new Date(Date.now() - REPORTED_WITHIN_MS),
): Promise<CarrierEvent[]> {
  const waiting = await db.anyFirst(sql.type(WaitingRow)`
    with taken as (
      update carrier_events c set waiting = null from (
        select event_id, waiting from carrier_events
        where workspace_id = ${db.workspaceId} and line_id = ${lineId}
          and carrier_message_id = ${carrierMessageId} and waiting is not null and ${receivedSince(since)}
        for update
      ) w
      where c.workspace_id = ${db.workspaceId} and c.line_id = ${lineId} and c.event_id = w.event_id
        and ${receivedSince(since)}
      returning w.waiting
    )
    select waiting from taken order by waiting ->> 'at'`);
  return [...waiting];
}

/** Applies events that arrived before the response to the send. @param events from `takeDeferredEvents`. */
export async function applyEarlyEvents(
  db: TenantDb,
  lineId: string,
  events: readonly CarrierEvent[],
  now: Date,
): Promise<void> {
  for (const event of events) {
    if (event.kind === 'receipt' || event.kind === 'read' || event.kind === 'reaction') {
      await applyMessageEvent(db, lineId, event, now);
    }
  }
}

async function applyReceipt(
  db: TenantDb,
  messageId: string,
  { status, reason, optedOut, at }: Extract<MessageEvent, { kind: 'receipt' }>,
  now: Date,
): Promise<void> {
  if (status === 'delivered') {
    await advanceMessage(db, messageId, ['sent'], { to: 'delivered', deliveredAt: at });
    return;
  }
  await lockSequences(db, [messageId]);
  const message = await findMessage(db, messageId);
  if (message?.status !== 'sent') return;
  const cause = optedOut ? 'recipient_opted_out' : (reason ?? 'undeliverable');
  if (optedOut) return fail(db, message, cause, now);
  return message.sendFallbackSmsOnFailed
    ? fallBack(db, message, cause, true, now)
    : fail(db, message, cause, now);
}

async function markRead(db: TenantDb, messageId: string, at: Date, now: Date): Promise<void> {
  await advanceMessage(db, messageId, ['sent'], { to: 'delivered', deliveredAt: at });
  const read = await db.maybeOne(sql.type(MessageRow)`
    update messages set read_at = ${sql.timestamp(at)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${messageId} and read_at is null
    returning *`);
  if (!read) return;
  const change = { event: 'message.opened' as const, message: read, data: { readAt: at.toISOString() } };
  await emitMessageEvents(db, [change], now);
}
