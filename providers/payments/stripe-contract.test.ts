import { expect, test } from 'vitest';
import { readContract, violations } from '#test/support/openapi-contract.ts';
import { recordStripeRequests } from '#test/support/stripe-requests.ts';

/**
 * What is sent to Stripe is valid by its published OpenAPI document (github.com/stripe/openapi), of which
 * `test/fixtures/contracts/stripe.json` has the operations and parameters that are used. `npm run prove -- stripe-contract` checks
 * against the whole document.
 */
const CONTRACT = readContract(new URL('../../test/fixtures/contracts/stripe.json', import.meta.url));
/** Newer than the document; the types of Stripe's client have it. */
const NEWER = 'POST /v1/checkout/sessions: allowed_payment_method_types[0] is unknown';

test('each request is valid, and each operation is used', async () => {
  const requests = await recordStripeRequests();
  expect(requests.flatMap((request) => violations(CONTRACT, request))).toEqual([NEWER]);
  const unused = CONTRACT.filter((operation) =>
    requests.every((request) => violations([operation], request).some((problem) => problem !== NEWER)),
  );
  expect(unused.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

test('the check finds what is wrong', () => {
  const problems = (method: string, path: string, body = '') => violations(CONTRACT, { method, path, body });
  expect(problems('POST', '/v1/credit_notes', 'amount=1.5')).toEqual([
    'POST /v1/credit_notes: amount must not be "1.5"',
    'POST /v1/credit_notes: invoice is missing',
  ]);
  expect(problems('POST', '/v1/subscriptions', 'items[0][prise]=price_1')).toEqual([
    'POST /v1/subscriptions: items[0][prise] is unknown',
  ]);
  expect(problems('POST', '/v1/invoices', 'collection_method=send')[0]).toContain('collection_method');
  expect(problems('GET', '/v1/invoices?created[after]=1')).toHaveLength(1);
  expect(problems('GET', '/v1/charges')).toHaveLength(1);
});
