import type { z } from 'zod';
import type { Grant } from '../billing/entitlement.ts';
import type { PaymentStatus, ProvisioningStatus } from './line.ts';

/**
 * The state machine of a line request. The payment provider's events may arrive early, twice, late, or after a
 * cancellation, so each one is applied only to the invoice that it is about.
 */

/**
 * The status of one invoice. Three of them mean that a call to the provider is still to be made: `opening` (create the
 * invoice), `void_due` (void it) and `credit_due` (refund its payment as credit).
 */
export const INVOICE_STATUSES = [
  'opening',
  'open',
  'paid',
  'void_due',
  'void',
  'credit_due',
  'credited',
] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

export interface LineRequestState {
  status: z.infer<typeof ProvisioningStatus>;
  paymentStatus: z.infer<typeof PaymentStatus>;
  /** The number of the provisioning attempt; a retry starts the next one. */
  round: number;
  /** The invoice of each round that needed one. */
  invoices: Readonly<Record<number, InvoiceStatus>>;
}

export type LineRequestEvent =
  /** Reported by the payment provider. */
  | {
      type: 'invoice_opened' | 'invoice_paid' | 'invoice_voided' | 'payment_failed' | 'invoice_credited';
      round: number;
    }
  /** The plan now includes the line, for example after an upgrade. */
  | { type: 'included' }
  | { type: 'cancel' }
  | { type: 'activated' }
  /** The carrier rejected the line permanently, or the line never became healthy. */
  | { type: 'refused' }
  | { type: 'retry'; grant: Grant };

const STARTS: Record<Grant, Pick<LineRequestState, 'status' | 'paymentStatus'>> = {
  included: { status: 'provisioning', paymentStatus: 'not_required' },
  invoiced: { status: 'provisioning', paymentStatus: 'invoiced' },
  payment: { status: 'awaiting_payment', paymentStatus: 'pending' },
};

export const startLineRequest = (grant: Grant): LineRequestState => begin(1, {}, grant);

/** @returns the next state; the same object if the event changes nothing; null if it is not allowed in this state. */
export function advanceLineRequest(
  state: LineRequestState,
  event: LineRequestEvent,
): LineRequestState | null {
  const { status, round, invoices } = state;
  switch (event.type) {
    case 'included':
      if (status !== 'awaiting_payment') return null;
      return { round, ...STARTS.included, invoices: voidCurrentInvoice(state) };
    case 'cancel':
      if (status !== 'awaiting_payment') return null;
      return { round, status: 'canceled', paymentStatus: 'canceled', invoices: voidCurrentInvoice(state) };
    case 'activated':
      return status === 'provisioning' ? { ...state, status: 'active' } : null;
    case 'refused':
      if (status !== 'provisioning') return null;
      return {
        round,
        status: 'failed',
        paymentStatus: state.paymentStatus === 'not_required' ? 'not_required' : 'canceled',
        invoices: invoices[round] === 'paid' ? { ...invoices, [round]: 'credit_due' } : invoices,
      };
    case 'retry':
      return status === 'failed' ? begin(round + 1, invoices, event.grant) : null;
    case 'invoice_opened':
    case 'invoice_paid':
    case 'invoice_voided':
    case 'payment_failed':
    case 'invoice_credited':
      return applyInvoiceEvent(state, event);
  }
}

function begin(round: number, invoices: LineRequestState['invoices'], grant: Grant): LineRequestState {
  return {
    round,
    ...STARTS[grant],
    invoices: grant === 'payment' ? { ...invoices, [round]: 'opening' } : invoices,
  };
}

/** If the invoice has been paid in the meantime, the call that voids it will find out. */
function voidCurrentInvoice({ round, invoices }: LineRequestState): LineRequestState['invoices'] {
  return { ...invoices, [round]: 'void_due' };
}

/** Events of the provider are never rejected; those that do not fit the state change nothing. */
function applyInvoiceEvent(
  state: LineRequestState,
  event: Extract<LineRequestEvent, { round: number }>,
): LineRequestState {
  const invoice = state.invoices[event.round];
  const awaited = event.round === state.round && state.status === 'awaiting_payment';
  const set = (status: InvoiceStatus): LineRequestState => ({
    ...state,
    invoices: { ...state.invoices, [event.round]: status },
  });
  switch (event.type) {
    case 'invoice_opened':
      return invoice === 'opening' ? set('open') : state;
    case 'invoice_paid':
      if (invoice === undefined || invoice === 'paid' || invoice === 'credit_due' || invoice === 'credited')
        return state;
      // A payment for a request that was canceled, or is now included in the plan, is refunded as credit.
      return awaited ? { ...set('paid'), status: 'provisioning', paymentStatus: 'paid' } : set('credit_due');
    case 'invoice_voided':
      if (invoice !== 'opening' && invoice !== 'open' && invoice !== 'void_due') return state;
      return awaited ? { ...set('void'), status: 'canceled', paymentStatus: 'canceled' } : set('void');
    case 'payment_failed':
      return awaited && (invoice === 'opening' || invoice === 'open') && state.paymentStatus === 'pending'
        ? { ...state, paymentStatus: 'failed' }
        : state;
    case 'invoice_credited':
      return invoice === 'credit_due' ? set('credited') : state;
  }
}
