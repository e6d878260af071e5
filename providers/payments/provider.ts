import { type PaymentProvider, PaymentsUnavailable } from '#domain/payments.ts';
import { simulatedStripe } from './simulated.ts';
import { type StripeOptions, stripePayments } from './stripe.ts';

export interface PaymentOptions {
  stripe: StripeOptions | null;
  /** Used if Stripe is not configured; null in production. */
  simulator: { url: string; secret: string } | null;
}

/** The configured payment provider. Without one, every call throws `PaymentsUnavailable`. */
export function createPayments({ stripe, simulator }: PaymentOptions): PaymentProvider {
  if (stripe) return stripePayments(stripe);
  return simulator ? stripePayments(simulatedStripe(simulator)) : noPayments;
}

const unavailable = (): never => {
  throw new PaymentsUnavailable('no payment provider is configured');
};

const noPayments: PaymentProvider = {
  createCustomer: async () => unavailable(),
  openCardPage: async () => unavailable(),
  setDefaultCard: async () => unavailable(),
  openInvoice: async () => unavailable(),
  readInvoice: async () => unavailable(),
  voidInvoice: async () => unavailable(),
  creditInvoice: async () => unavailable(),
  addToNextInvoice: async () => unavailable(),
  subscribe: async () => unavailable(),
  changePlan: async () => unavailable(),
  readSubscription: async () => unavailable(),
  parseCallback: unavailable,
};
