import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { simulatedWebhookSecret } from '#providers/payments/simulated.ts';
import type { PaymentEvent } from './payments-ledger.ts';
import { unixNow } from './payments-ledger.ts';

const RESPONSE_TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const GIVE_UP_MS = 60 * 60_000;

/** Posts events to the product with Stripe's signature, each until the response is 2xx. */
export function createPaymentCallbacks(options: {
  secret: string;
  url: string;
  log: (text: string) => void;
}) {
  const stopping = new AbortController();
  const signingSecret = simulatedWebhookSecret(options.secret);

  async function post(event: PaymentEvent): Promise<boolean> {
    const body = JSON.stringify(event);
    const timestamp = unixNow();
    const signature = createHmac('sha256', signingSecret).update(`${timestamp}.${body}`).digest('hex');
    try {
      const response = await request(options.url, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'stripe-signature': `t=${timestamp},v1=${signature}` },
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]),
      });
      await response.body.dump();
      return response.statusCode >= 200 && response.statusCode < 300;
    } catch {
      return false;
    }
  }

  async function retry(event: PaymentEvent, delivered: () => void): Promise<void> {
    const giveUpAt = Date.now() + GIVE_UP_MS;
    for (let delayMs = FIRST_RETRY_MS; Date.now() < giveUpAt; delayMs = Math.min(2 * delayMs, MAX_RETRY_MS)) {
      await pause(delayMs, undefined, { signal: stopping.signal });
      if (await post(event)) return delivered();
    }
    options.log(`payment event ${event.id} given up`);
  }

  return {
    /** Resolves after the first attempt, so that its effect is visible to the caller. Retries run in the background. */
    async deliver(event: PaymentEvent, delivered: () => void): Promise<void> {
      if (await post(event)) return delivered();
      if (!stopping.signal.aborted) retry(event, delivered).catch(() => {});
    },
    stop: () => stopping.abort(),
  };
}
