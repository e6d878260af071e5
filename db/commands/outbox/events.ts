import { sql } from 'slonik';
import { z } from 'zod';
import type { DeliveredEvent, EventName } from '#domain/event.ts';
import type { EventPayload } from '#domain/events/payloads.ts';
import { newId } from '#domain/ids.ts';
import { webhookDispatcherId } from '#workflows/messages/wake.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { wakeUnlessDue } from '#db/wakes.ts';

/** The whole JSON body that subscribers receive. */
export type NewEvent = EventPayload<EventName>;

/** null: the event is not about a message. */
const messageOf = (event: NewEvent): string | null => ('messageId' in event ? event.messageId : null);

const DeliveriesRow = z.object({ deliveries: z.int() });

/**
 * Writes events to the outbox, with one delivery for each subscribed webhook. Call it in the transaction that made the
 * change.
 */
export async function emitEvents(db: TenantDb, events: readonly NewEvent[], now: Date): Promise<void> {
  if (events.length === 0) return;
  const texts = (of: (event: NewEvent) => string | null) => sql.array(events.map(of), 'text');
  // Ids in real time, also in test mode: the partitions of events and deliveries are days of it.
  const deliveries = await db.oneFirst(sql.type(DeliveriesRow)`
    select emit_events(${db.workspaceId}, ${texts(() => newId())}, ${texts(({ event }) => event)}, ${texts(messageOf)},
      ${texts((event) => JSON.stringify(event))}) deliveries`);
  if (deliveries > 0) wakeUnlessDue(db, webhookDispatcherId(db.workspaceId), now, 'deliveriesDue');
}

/** Inserts the event of a delivery that does not come from a subscription. Streams do not show it. @returns its id. */
export async function insertEvent(db: TenantDb, event: DeliveredEvent, body: string): Promise<string> {
  const id = newId();
  await db.query(sql.type(NoRows)`
    insert into events (workspace_id, id, event, body) values (${db.workspaceId}, ${id}, ${event}, ${body})`);
  return id;
}
