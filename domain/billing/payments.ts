import { z } from 'zod';
import type { Channel } from '../base/channel.ts';
import type { LineKind, Plan, SubscriptionStatus } from './entitlement.ts';

/**
 * The interface to a payment provider. Every call that changes something is idempotent by its key, so that after a
 * crash between the call and the commit it can be repeated. The provider forgets keys after a day: calls that are repeated for
 * longer look for what an earlier one created.
 */
export interface PaymentProvider {
  /** @returns the provider's customer id. */
  createCustomer(payer: { id: string; name: string }): Promise<string>;
  /** @returns the URL of a hosted page for entering a card; a `card` event follows when it is completed. */
  openCardPage(page: { customerId: string; returnUrl: string }): Promise<string>;
  /** Makes the card entered on a completed page the customer's default. */
  setDefaultCard(card: { customerId: string; setupId: string }): Promise<void>;

  /** Creates a hosted invoice, or finds or completes that of an earlier call; idempotent per line and round, however late. */
  openInvoice(order: LineOrder): Promise<Invoice>;
  readInvoice(invoiceId: string): Promise<Invoice>;
  /** Voids an open invoice. @returns its current state: it may have been paid before. */
  voidInvoice(invoiceId: string): Promise<Invoice>;
  /** Credits a paid invoice to the customer's balance, which later invoices use; idempotent. */
  creditInvoice(invoiceId: string): Promise<void>;
  /** Adds a line to the customer's next invoice (invoice billing); idempotent per line and round, however late. */
  addToNextInvoice(order: LineOrder): Promise<void>;

  /**
   * Charges the saved card.
   * @param key the idempotency key of the attempt.
   * @throws CardDeclined with nothing changed.
   */
  subscribe(order: {
    customerId: string;
    workspaceId: string;
    plan: Plan;
    key: string;
  }): Promise<Subscription>;
  /** The active or past due subscription of a workspace; null: it has none. Knows one as soon as it is created. */
  findSubscription(of: { customerId: string; workspaceId: string }): Promise<Subscription | null>;
  /** @throws CardDeclined with nothing changed, NoSuchSubscription. */
  changePlan(order: { subscriptionId: string; plan: Plan; key: string }): Promise<Subscription>;
  /** @throws NoSuchSubscription */
  readSubscription(subscriptionId: string): Promise<Subscription>;

  /** What is charged for plans and for lines that no plan includes. Remembers them for some minutes. */
  readPrices(): Promise<Prices>;

  /**
   * Verifies and parses a callback.
   * @returns null for event types that are not handled.
   * @throws BadPaymentSignature, UnreadablePaymentCallback
   */
  parseCallback(rawBody: string, signature: string): Promise<PaymentEvent | null>;
}

export const Price = z
  .object({
    amount: z.int().meta({ description: 'In the smallest unit of the currency, without taxes.' }),
    currency: z.string().meta({ description: 'ISO 4217, in lowercase.' }),
    interval: z
      .enum(['day', 'week', 'month', 'year'])
      .nullable()
      .meta({ description: 'How often it is charged; null: once.' }),
    intervalCount: z.int().min(1).meta({ description: '3 with `month`: every three months.' }),
  })
  .meta({ id: 'Price' });
export type Price = z.infer<typeof Price>;

/** Null: the provider does not tell, or it depends on more than the price. */
export interface Prices {
  plans: Record<Plan, Price | null>;
  lines: Record<LineKind, Price | null>;
}

export interface LineOrder {
  customerId: string;
  workspaceId: string;
  lineId: string;
  round: number;
  /** When the line was requested: the provider has nothing older for it. */
  requestedAt: Date;
  channel: Channel;
  description: string;
}

export interface Invoice {
  id: string;
  status: 'open' | 'paid' | 'void';
  /** The hosted page that charges the saved card. */
  paymentUrl: string | null;
}

export interface Subscription {
  id: string;
  status: SubscriptionStatus;
  /** From the subscription's metadata; null if it was not created by this service. */
  workspaceId: string | null;
  plan: Plan | null;
}

export type PaymentEvent =
  | {
      kind: 'invoice';
      id: string;
      type: 'paid' | 'voided' | 'payment_failed';
      lineId: string;
      round: number;
      invoice: Invoice;
    }
  | { kind: 'card'; id: string; customerId: string; setupId: string }
  /** Arrives in any order, so the receiver must read the subscription. */
  | { kind: 'subscription'; id: string; subscriptionId: string };

/** The saved card was declined, or there is none. */
export class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
}

export class NoSuchSubscription extends Error {
  override readonly name = 'NoSuchSubscription';
}

/** The provider is unreachable or not configured. Retryable. */
export class PaymentsUnavailable extends Error {
  override readonly name = 'PaymentsUnavailable';
}

export class BadPaymentSignature extends Error {
  override readonly name = 'BadPaymentSignature';
}

/** The callback or its signature header is malformed. */
export class UnreadablePaymentCallback extends Error {
  override readonly name = 'UnreadablePaymentCallback';
  /** The name of the malformed header; '' for the body. */
  readonly part: string;

  constructor(part: string, message: string) {
    super(message);
    this.part = part;
  }
}
