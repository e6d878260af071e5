import type { z } from 'zod';
import type { Grant } from './entitlement.ts';
import type { PaymentStatus, ProvisioningStatus } from './line.ts';

/**
 * The state machine of a line request, pure. The payment provider's facts may
 * arrive before their time, twice, late, or after a cancel: each is taken as what it says about one invoice.
 */

/**
 * One invoice for the line. The `…_due` ones name what this service still owes the provider:
 * `opening` to make it, `void_due` to void it, `credit_due` to give its payment back as credit.
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
  /** Counts the attempts at having this line; a retry begins the next. */
  round: number;
  /** The invoice of each round that needed one. */
  invoices: Readonly<Record<number, InvoiceStatus>>;
}

export type LineRequestEvent =
  /** What the provider says of an invoice. */
  | {
      type: 'invoice_opened' | 'invoice_paid' | 'invoice_voided' | 'payment_failed' | 'invoice_credited';
      round: number;
    }
  /** The plan has come to include the line; found out when the request is read. */
  | { type: 'included' }
  | { type: 'cancel' }
  | { type: 'activated' }
  /** The carrier refuses the line for good, or it never became healthy. */
  | { type: 'refused' }
  | { type: 'retry'; grant: Grant };

const STARTS: Record<Grant, Pick<LineRequestState, 'status' | 'paymentStatus'>> = {
  included: { status: 'provisioning', paymentStatus: 'not_required' },
  invoiced: { status: 'provisioning', paymentStatus: 'invoiced' },
  payment: { status: 'awaiting_payment', paymentStatus: 'pending' },
};

export const startLineRequest = (grant: Grant): LineRequestState => begin(1, {}, grant);

/** @returns the next state, the same object when the event changes nothing, null when it is not possible in this state. */
export function advanceLineRequest(
  state: LineRequestState,
  event: LineRequestEvent,
): LineRequestState | null {
  const { status, round, invoices } = state;
  switch (event.type) {
    case 'included':
      if (status !== 'awaiting_payment') return null;
      return { round, ...STARTS.included, invoices: withdrawn(state) };
    case 'cancel':
      if (status !== 'awaiting_payment') return null;
      return { round, status: 'canceled', paymentStatus: 'canceled', invoices: withdrawn(state) };
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
      return applyInvoiceFact(state, event);
  }
}

function begin(round: number, invoices: LineRequestState['invoices'], grant: Grant): LineRequestState {
  return {
    round,
    ...STARTS[grant],
    invoices: grant === 'payment' ? { ...invoices, [round]: 'opening' } : invoices,
  };
}

/** The current invoice is not wanted any more. Whether it has been paid meanwhile, voiding it will tell. */
function withdrawn({ round, invoices }: LineRequestState): LineRequestState['invoices'] {
  return { ...invoices, [round]: 'void_due' };
}

/** The provider's facts are never refused: what they do not fit changes nothing. */
function applyInvoiceFact(
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
      // Money for what was canceled, or became part of the plan, is given back and not kept.
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
