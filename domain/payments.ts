import type { Channel } from './channel.ts';
import type { Plan } from './entitlement.ts';

/**
 * What the product needs of a payment provider. Every call that changes something carries a key: the same key again
 * has no second effect, so that a crash between the call and its commit is repaired by calling again.
 */
export interface PaymentProvider {
  /** @returns the customer's id there. */
  createCustomer(payer: { id: string; name: string }): Promise<string>;
  /** @returns the address of a hosted page where the customer enters a card; `card` events tell of its end. */
  openCardPage(page: { customerId: string; returnUrl: string }): Promise<string>;
  /** Charges the card of a finished page from now on. */
  useCard(card: { customerId: string; setupId: string }): Promise<void>;

  /** A hosted invoice for one round of one line; the same invoice however often it is called. */
  openInvoice(order: LineOrder): Promise<Invoice>;
  readInvoice(invoiceId: string): Promise<Invoice>;
  /** Voids it while it is open. @returns what it is now: it may have been paid before. */
  voidInvoice(invoiceId: string): Promise<Invoice>;
  /** Gives a paid invoice's money back as the customer's credit, which later invoices use up; once. */
  creditInvoice(invoiceId: string): Promise<void>;
  /** Puts a line on the customer's next invoice (invoice billing); once for a line and round. */
  addToNextInvoice(order: LineOrder): Promise<void>;

  /**
   * Charges the saved card.
   * @param key the same for a repetition of one and the same attempt.
   * @throws CardDeclined; nothing has changed then.
   */
  subscribe(order: {
    customerId: string;
    workspaceId: string;
    plan: Plan;
    key: string;
  }): Promise<Subscription>;
  /** @throws CardDeclined; nothing has changed then. NoSuchSubscription. */
  changePlan(order: { subscriptionId: string; plan: Plan; key: string }): Promise<Subscription>;
  /** @throws NoSuchSubscription */
  readSubscription(subscriptionId: string): Promise<Subscription>;

  /** Verifies a callback and reads what it is about; null: nothing that matters here. @throws BadPaymentSignature, UnreadablePaymentCallback */
  parseCallback(rawBody: string, signature: string): PaymentEvent | null;
}

export interface LineOrder {
  customerId: string;
  workspaceId: string;
  lineId: string;
  round: number;
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
  status: 'none' | 'active' | 'past_due' | 'canceled';
  /** From what was noted at the provider when it was made; null for subscriptions made elsewhere. */
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
  /** Events of a subscription come in any order: what it is now has to be read. */
  | { kind: 'subscription'; id: string; subscriptionId: string };

/** The saved card was refused, or there is none. */
export class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
}

export class NoSuchSubscription extends Error {
  override readonly name = 'NoSuchSubscription';
}

/** The provider cannot be asked just now, or there is none; trying again later may work. */
export class PaymentsUnavailable extends Error {
  override readonly name = 'PaymentsUnavailable';
}

export class BadPaymentSignature extends Error {
  override readonly name = 'BadPaymentSignature';
}

/** A callback, or the header that signs it, is not in the provider's format. */
export class UnreadablePaymentCallback extends Error {
  override readonly name = 'UnreadablePaymentCallback';
  /** The name of the header; '' for the body. */
  readonly part: string;

  constructor(part: string, message: string) {
    super(message);
    this.part = part;
  }
}
