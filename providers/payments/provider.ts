import { type PaymentProvider, PaymentsUnavailable } from '#domain/billing/payments.ts';
import { simulatedStripe } from './simulated.ts';
import type { StripeOptions } from './stripe-api.ts';
import { stripeCheck } from './stripe-check.ts';

export interface PaymentOptions {
  stripe: StripeOptions | null;
  /** Used if Stripe is not configured; null in production. */
  simulator: { url: string; secret: string } | null;
}

/** The configured payment provider. Without one, every call throws `PaymentsUnavailable`. */
export function createPayments({ stripe, simulator }: PaymentOptions): PaymentProvider {
  if (stripe) return loadedWhenUsed(stripe);
  return simulator ? loadedWhenUsed(simulatedStripe(simulator)) : noPayments;
}

/** Checks the configured payment provider. @throws with the reason. Null: there is none. */
export const paymentsCheck = ({ stripe }: PaymentOptions): (() => Promise<void>) | null =>
  stripe && stripeCheck(stripe);

/** Loads Stripe's client with the first call: it takes 30 MB, which most processes never need. */
function loadedWhenUsed(options: StripeOptions): PaymentProvider {
  let provider: Promise<PaymentProvider> | undefined;
  const load = async (): Promise<PaymentProvider> =>
    (provider ??= import('./stripe.ts').then(({ stripePayments }) => stripePayments(options)));
  const deferred = (name: keyof PaymentProvider) => async (argument: never, second: never) =>
    (await load())[name](argument, second);
  return Object.fromEntries(
    Object.keys(noPayments).map((name) => [name, deferred(name as keyof PaymentProvider)]),
  ) as unknown as PaymentProvider;
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
  findSubscription: async () => unavailable(),
  changePlan: async () => unavailable(),
  readSubscription: async () => unavailable(),
  readPrices: async () => unavailable(),
  parseCallback: async () => unavailable(),
};
