import Stripe from 'stripe';
import { type Plan, PLANS } from '#domain/billing/entitlement.ts';
import { newId } from '#domain/base/ids.ts';
import type { LineOrder } from '#domain/billing/payments.ts';
import { freePort } from '#providers/free-port.ts';
import { STRIPE_API_VERSION, stripePayments } from '#providers/payments/stripe.ts';
import { goProgram, provePart, responds, startProgram } from './world/part.ts';

/**
 * `npm run prove -- stripe-contract`: makes every request that is made to Stripe to stripe-mock, which validates them against
 * Stripe's OpenAPI document. It is built with Go.
 */
const VERSION = 'v0.203.0';
/** stripe-mock's document is older than the API version, which renamed a parameter of the card page. */
const NEWER = /additional properties are not allowed/;

await provePart({
  name: 'stripe-contract',
  find() {
    const program = goProgram('github.com/stripe/stripe-mock', VERSION);
    return program === null
      ? 'stripe-mock cannot be built; it requires Go'
      : { version: `stripe-mock ${VERSION}, API version ${STRIPE_API_VERSION}`, program };
  },
  async prove({ program }, check) {
    const port = await freePort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const server = await startProgram(program, ['-http-addr', `127.0.0.1:${port}`], responds(baseUrl));
    const plans = Object.fromEntries(PLANS.map((plan) => [plan, `price_${plan}`])) as Record<Plan, string>;
    const lines = { phone: 'price_phone', email: 'price_email' };
    const payments = stripePayments({
      apiKey: 'sk_test_123',
      webhookSecret: 'whsec_proof',
      baseUrl,
      prices: { plans, lines },
    });
    const order: LineOrder = {
      customerId: 'cus_1',
      workspaceId: newId(),
      lineId: newId(),
      round: 1,
      requestedAt: new Date(),
      channel: 'email',
      description: 'Line (email) for Ada Lovelace: Grüße & more',
    };
    const subscriptionId = 'sub_1';
    const calls: Record<string, () => Promise<unknown>> = {
      createCustomer: () => payments.createCustomer({ id: newId(), name: 'Grüße & Co' }),
      openCardPage: () => payments.openCardPage({ customerId: 'cus_1', returnUrl: 'https://a.example/b' }),
      setDefaultCard: () => payments.setDefaultCard({ customerId: 'cus_1', setupId: 'seti_1' }),
      openInvoice: () => payments.openInvoice(order),
      readInvoice: () => payments.readInvoice('in_1'),
      voidInvoice: () => payments.voidInvoice('in_1'),
      creditInvoice: () => payments.creditInvoice('in_1'),
      addToNextInvoice: () => payments.addToNextInvoice(order),
      subscribe: () =>
        payments.subscribe({ customerId: 'cus_1', workspaceId: newId(), plan: 'growth', key: 'proof' }),
      findSubscription: () => payments.findSubscription({ customerId: 'cus_1', workspaceId: newId() }),
      changePlan: () => payments.changePlan({ subscriptionId, plan: 'starter', key: 'proof' }),
      readSubscription: () => payments.readSubscription(subscriptionId),
    };
    try {
      for (const [name, call] of Object.entries(calls)) {
        const problem = await call().then(() => null, reasonOf);
        const isKnown = name === 'openCardPage' && problem !== null && NEWER.test(problem);
        check(
          isKnown ? `${name}, but for a parameter newer than stripe-mock` : name,
          problem === null || isKnown,
          problem,
        );
      }
    } finally {
      await server.stop();
    }
  },
});

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof Stripe.errors.StripeError ? cause.message : String(error);
}
