import type { EventPayload } from '#domain/events/payloads.ts';
import { messageEventPayload, type MessageEventName } from '#domain/events/message-event.ts';
import { campaignNames } from '#db/queries/campaigns/campaigns.ts';
import { findGroups, presentGroup } from '#db/queries/inbox/groups.ts';
import { emitEvents, type NewEvent } from '#db/commands/events/events.ts';
import { findLeads, presentLead } from '#db/queries/contacts/leads.ts';
import { type MessageRow, presentMessage } from '#db/queries/messages/messages.ts';
import { endFallbackSms } from '#db/queries/sending/sends.ts';
import { cancelBubbles } from './bubbles.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** A changed message and the data of its event. */
export type MessageChange = {
  [Name in MessageEventName]: { event: Name; message: MessageRow; data: EventPayload<Name>['data'] };
}[MessageEventName];

/** Emits `message.canceled` of messages that were canceled in this transaction. */
export const emitCanceled = (db: TenantDb, canceled: readonly MessageRow[], now: Date): Promise<void> =>
  emitMessageEvents(
    db,
    canceled.map((message) => ({
      event: 'message.canceled' as const,
      message,
      data: { reason: message.holdReason },
    })),
    now,
  );

/** Emits `message.delivered` of messages that were delivered in this transaction. */
export const emitDelivered = (db: TenantDb, delivered: readonly MessageRow[], now: Date): Promise<void> =>
  emitMessageEvents(
    db,
    delivered.map((message) => ({
      event: 'message.delivered' as const,
      message,
      data: message.deliveredAt ? { deliveredAt: message.deliveredAt.toISOString() } : {},
    })),
    now,
  );

/** Cancels the bubbles after messages that will not be sent. */
export async function endBubbles(db: TenantDb, ended: readonly MessageRow[], now: Date): Promise<void> {
  await emitCanceled(db, await cancelBubbles(db, ended), now);
}

/** Ends the fallback SMS of a message that will not be sent, and cancels the bubbles after it. */
export async function failFallbackSms(db: TenantDb, message: MessageRow, now: Date): Promise<void> {
  await endFallbackSms(db, message.id, 'failed');
  await endBubbles(db, [message], now);
}

/** What follows such a message is not sent. */
const ENDS: ReadonlySet<MessageEventName> = new Set(['message.failed', 'message.canceled']);

/** Emits the events of messages that changed in this transaction. */
export async function emitMessageEvents(
  db: TenantDb,
  changed: readonly MessageChange[],
  now: Date,
): Promise<void> {
  if (changed.length === 0) return;
  const ended = changed.filter(({ event }) => ENDS.has(event)).map(({ message }) => message);
  await endBubbles(db, ended, now);
  const leads = await findLeads(
    db,
    changed.flatMap(({ message }) => message.leadId ?? []),
  );
  const campaigns = await campaignNames(
    db,
    changed.flatMap(({ message }) => message.campaignId ?? []),
  );
  const groups = await findGroups(
    db,
    changed.map(({ message }) => message.address),
  );
  await emitEvents(
    db,
    changed.map(({ event, message, data }) => {
      const lead = leads.get(message.leadId ?? '');
      const campaign = campaigns.get(message.campaignId ?? '');
      const group = groups.get(message.address);
      const context = {
        data,
        ...(lead && { lead: presentLead(lead) }),
        ...(group && { group: presentGroup(group) }),
        ...(campaign && { campaign }),
      };
      // The type of `changed` relates name and data, which TypeScript loses in the destructuring.
      return messageEventPayload(event, presentMessage(message), context, now) as NewEvent;
    }),
    now,
  );
}
