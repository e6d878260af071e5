import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { simulatedWebhookSecret } from '#providers/payments/simulated.ts';
import type { PaymentEvent } from './payments-ledger.ts';
import { unixNow } from './payments-ledger.ts';

const ANSWER_MS = 10_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
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
      const answer = await request(options.url, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'stripe-signature': `t=${timestamp},v1=${signature}` },
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(ANSWER_MS)]),
      });
      await answer.body.dump();
      return answer.statusCode >= 200 && answer.statusCode < 300;
    } catch {
      return false;
    }
  }

  async function repeat(event: PaymentEvent, done: (told: boolean) => void): Promise<void> {
    const giveUpAt = Date.now() + GIVE_UP_MS;
    for (
      let delayMs = FIRST_RETRY_MS;
      Date.now() < giveUpAt;
      delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)
    ) {
      await pause(delayMs, undefined, { signal: stopping.signal });
      if (await post(event)) return done(true);
    }
    options.log(`payment event ${event.id} given up`);
    done(false);
  }

  return {
    /** Resolves after the first attempt, so that what a test does next finds its effect; repetitions follow by themselves. */
    async tell(event: PaymentEvent, done: () => void): Promise<void> {
      if (await post(event)) return done();
      if (!stopping.signal.aborted) repeat(event, done).catch(() => {});
    },
    stop: () => stopping.abort(),
  };
}
