import { z } from 'zod';
import { tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { boundedFetch } from '../bounded-fetch.ts';
import { connectionFailure } from '../connection-failure.ts';
import { type StripeOptions, STRIPE_API_VERSION } from './stripe-api.ts';

const TIMEOUT_MS = 5000;
const MAX_RESPONSE_BYTES = 256 * 1024;

const Price = z.object({ object: z.literal('price'), active: z.boolean().optional() });

/**
 * Asks Stripe for the configured prices, without its client, which takes 30 MB.
 * @returns a check that throws, with the reason, if Stripe does not respond, refuses the key, or does not sell one of them.
 */
export function stripeCheck({
  apiKey,
  baseUrl = 'https://api.stripe.com',
  caFile = null,
  prices,
}: StripeOptions): () => Promise<void> {
  const request = boundedFetch(MAX_RESPONSE_BYTES, caFile);
  const ids = new Set([...Object.values(prices.plans), ...Object.values(prices.lines)]);
  const headers = { authorization: `Bearer ${apiKey}`, 'stripe-version': STRIPE_API_VERSION };

  async function checkPrice(id: string, signal: AbortSignal): Promise<void> {
    const url = new URL(`/v1/prices/${encodeURIComponent(id)}`, baseUrl);
    const response = await request(url, { headers, signal, redirect: 'error' }).catch((error: unknown) => {
      const reason = connectionFailure(error instanceof TypeError ? error.cause : error);
      throw new Error(`the payment provider is unreachable: ${reason}`, { cause: error });
    });
    const { status } = response;
    if (status === 401) throw new Error('the payment provider refuses STRIPE_SECRET_KEY');
    // A restricted key may create invoices and not read prices.
    if (status === 403) return;
    if (status === 404) throw new Error(`the payment provider has no price ${id}, which STRIPE_PRICES names`);
    if (!response.ok) throw new Error(`the payment provider responded ${status}`);
    const price = Price.safeParse(tryParseUntrustedJson(await response.text()));
    if (!price.success) throw new Error("the response is not the payment provider's own");
    if (price.data.active === false) throw new Error(`the price ${id} is not active any more`);
  }

  return async () => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await Promise.all([...ids].map((id) => checkPrice(id, signal)));
  };
}
