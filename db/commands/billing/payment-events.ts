import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import type { LineRequestEvent } from '#domain/lines/line-request-state.ts';
import type { PaymentEvent } from '#domain/billing/payments.ts';
import { changeLineRequest } from './change-line-request.ts';
import { notify } from '#db/commands/events/notifications.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const EventIdRow = z.object({ eventId: z.string() });

/**
 * Records an event before it is applied in the same transaction.
 * @returns false if it was recorded before and must be ignored.
 */
export async function recordPaymentEvent(db: TenantDb, event: PaymentEvent): Promise<boolean> {
  const noted = await db.maybeOne(sql.type(EventIdRow)`
    insert into payment_events (workspace_id, event_id, type) values (${db.workspaceId}, ${event.id}, ${event.kind})
    on conflict do nothing returning event_id`);
  return noted !== null;
}

const REQUEST_EVENTS = {
  paid: 'invoice_paid',
  voided: 'invoice_voided',
  payment_failed: 'payment_failed',
} as const satisfies Record<Extract<PaymentEvent, { kind: 'invoice' }>['type'], LineRequestEvent['type']>;

/**
 * Applies an invoice event, which may arrive early, late or after a cancellation. Ignores lines of other workspaces.
 * @returns false if it is about another invoice than the one of the request's round; nothing changes then.
 */
export async function applyInvoiceEvent(
  db: TenantDb,
  event: Extract<PaymentEvent, { kind: 'invoice' }>,
): Promise<boolean> {
  const { lineId, round, invoice, type } = event;
  const change = await changeLineRequest(db, lineId, { type: REQUEST_EVENTS[type], round }, { invoice });
  if (!change || change.outcome === 'other_invoice') return false;
  await notifyPayer(db, event);
  return true;
}

async function notifyPayer(
  db: TenantDb,
  { type, lineId, round, invoice }: Extract<PaymentEvent, { kind: 'invoice' }>,
): Promise<void> {
  const subject = `${lineId}:${round}:${type}`;
  const now = currentTime();
  switch (type) {
    case 'paid':
      return notify(db, subject, { about: 'invoice_paid', lineId }, now);
    case 'payment_failed':
      return notify(db, subject, { about: 'payment_failed', lineId, paymentUrl: invoice.paymentUrl }, now);
    case 'voided':
  }
}
