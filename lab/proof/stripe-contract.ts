import Stripe from 'stripe';
import { freePort } from '../../providers/free-port.ts';
import { STRIPE_API_VERSION } from '../../providers/payments/stripe-api.ts';
import { startStripePayments, stripeCalls } from '../../test/support/stripe-requests.ts';
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
    try {
      for (const [name, call] of Object.entries(stripeCalls(startStripePayments(baseUrl)))) {
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
