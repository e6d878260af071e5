import { createHmac } from 'node:crypto';
import type { StripeOptions } from './stripe-api.ts';

/** Prices at the simulated provider, in cents. */
export const SIMULATED_PRICES: Readonly<Record<string, number>> = {
  price_plan_mini: 4900,
  price_plan_starter: 9900,
  price_plan_growth: 29_900,
  price_line_phone: 5000,
  price_line_email: 1500,
};

/** Derived from the secret, because the key that signs callbacks must not authenticate requests. */
export const simulatedWebhookSecret = (secret: string): string =>
  `whsec_${createHmac('sha256', secret).update('payments').digest('hex')}`;

/** The simulated provider implements Stripe's API. */
export function simulatedStripe({ url, secret }: { url: string; secret: string }): StripeOptions {
  return {
    apiKey: `sk_test_${secret}`,
    webhookSecret: simulatedWebhookSecret(secret),
    baseUrl: url,
    prices: {
      plans: { mini: 'price_plan_mini', starter: 'price_plan_starter', growth: 'price_plan_growth' },
      lines: { phone: 'price_line_phone', email: 'price_line_email' },
    },
  };
}
