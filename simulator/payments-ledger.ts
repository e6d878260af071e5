import { randomBytes } from 'node:crypto';
import { SIMULATED_PRICES } from '#providers/payments/simulated.ts';
import type { Journal } from './journal.ts';

export type Metadata = Record<string, string>;

export interface Customer {
  id: string;
  object: 'customer';
  name: string | null;
  /** In cents; negative: credit that the next invoices use up. */
  balance: number;
  /** null until a card is saved; a simulated customer is charged regardless. */
  invoice_settings: { default_payment_method: string | null };
  metadata: Metadata;
}

/** A hosted page where a customer saves a card; its setup intent has the same id with another prefix. */
export interface CardPage {
  id: string;
  object: 'checkout.session';
  mode: 'setup';
  status: 'open' | 'complete';
  customer: string;
  setup_intent: string;
  success_url: string;
  url: string;
}

export interface Invoice {
  id: string;
  object: 'invoice';
  customer: string;
  status: 'draft' | 'open' | 'paid' | 'void';
  total: number;
  amount_due: number;
  amount_paid: number;
  lines: { object: 'list'; data: { description: string; amount: number }[] };
  metadata: Metadata;
  hosted_invoice_url: string | null;
  created: number;
}

export interface Subscription {
  id: string;
  object: 'subscription';
  customer: string;
  status: 'active' | 'past_due' | 'canceled';
  /** Open while the subscription is past due; null: the simulator makes no other invoices of subscriptions. */
  latest_invoice: string | null;
  items: { data: { id: string; price: string }[] };
  metadata: Metadata;
  created: number;
}

export interface CreditNote {
  id: string;
  object: 'credit_note';
  invoice: string;
  amount: number;
}

export interface InvoiceItem {
  id: string;
  object: 'invoiceitem';
  customer: string;
  /** null: it is pending, for the customer's next invoice. */
  invoice: string | null;
  description: string;
  amount: number;
  metadata: Metadata;
  /** When it was created. */
  date: number;
}

export interface PaymentEvent {
  id: string;
  object: 'event';
  type: string;
  created: number;
  data: { object: Invoice | Subscription | CardPage };
}

/** The response to a request with an idempotency key, which is its id. */
export interface Answer {
  id: string;
  request: string;
  status: number;
  body: unknown;
  isForgotten?: true;
}

/** A new version of an object, or the response to a request with an idempotency key. */
export type LedgerEntry =
  | { is: 'customer'; value: Customer }
  | { is: 'card_page'; value: CardPage }
  | { is: 'invoice'; value: Invoice }
  | { is: 'subscription'; value: Subscription }
  | { is: 'credit_note'; value: CreditNote }
  | { is: 'invoiceitem'; value: InvoiceItem }
  | { is: 'answer'; value: Answer }
  | { is: 'declines'; value: { id: string; declines: boolean } }
  | { is: 'event'; value: { id: string; event: PaymentEvent | null } };

type Value<Is extends LedgerEntry['is']> = Extract<LedgerEntry, { is: Is }>['value'];

/** The state of the simulated payment provider. A change is durable when `put` returns. */
export function createLedger(journal: Journal<LedgerEntry>) {
  const tables = new Map<LedgerEntry['is'], Map<string, unknown>>();
  const table = <Is extends LedgerEntry['is']>(is: Is): Map<string, Value<Is>> => {
    const found = tables.get(is) ?? new Map<string, unknown>();
    tables.set(is, found);
    return found as Map<string, Value<Is>>;
  };
  for (const past of journal.takePast()) {
    const { is, value } = current(past);
    table(is).set(value.id, value);
  }

  return {
    get: <Is extends LedgerEntry['is']>(is: Is, id: string): Value<Is> | undefined => table(is).get(id),
    all: <Is extends LedgerEntry['is']>(is: Is): Value<Is>[] => [...table(is).values()],
    put<Is extends LedgerEntry['is']>(is: Is, value: Value<Is>): Value<Is> {
      journal.append({ is, value } as LedgerEntry);
      table(is).set(value.id, value);
      return value;
    },
  };
}
export type Ledger = ReturnType<typeof createLedger>;

/** An entry as it is now written. In 1.0, an invoice had an array of lines, and an answer did not have its request. */
function current(entry: LedgerEntry): LedgerEntry {
  if (entry.is === 'invoice' && Array.isArray(entry.value.lines))
    return { ...entry, value: { ...entry.value, lines: { object: 'list', data: entry.value.lines } } };
  if (entry.is === 'answer' && !('request' in entry.value))
    return { ...entry, value: { ...(entry.value as Answer), isForgotten: true } };
  return entry;
}

export const newPaymentId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
export const unixNow = (): number => Math.floor(Date.now() / 1000);

/** An empty draft, unless `fields` say otherwise. */
export const newInvoice = (customer: string, fields: Partial<Invoice>): Invoice => ({
  id: newPaymentId('in'),
  object: 'invoice',
  customer,
  status: 'draft',
  total: 0,
  amount_due: 0,
  amount_paid: 0,
  lines: { object: 'list', data: [] },
  metadata: {},
  hosted_invoice_url: null,
  created: unixNow(),
  ...fields,
});

/** In cents; null for an unknown price. */
export const priceOf = (price: string): number | null => SIMULATED_PRICES[price] ?? null;
