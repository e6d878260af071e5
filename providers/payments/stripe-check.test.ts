import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSomebodyElse } from '#test/conformance/http-carrier-worlds.ts';
import { freePort } from '../free-port.ts';
import { stripeCheck } from './stripe-check.ts';

let server: Awaited<ReturnType<typeof startSomebodyElse>>;
beforeAll(async () => {
  server = await startSomebodyElse();
});
afterAll(() => server.stop());

const PRICES = { plans: { mini: 'm', starter: 's', growth: 'g' }, lines: { phone: 'p', email: 'p' } };
const check = (baseUrl: string): Promise<string> =>
  stripeCheck({ apiKey: 'sk', webhookSecret: 'whsec', prices: PRICES, baseUrl })().then(() => '', String);
const problem = JSON.stringify({ error: { type: 'invalid_request_error', message: 'No such price' } });

test.each<[string, number, string, RegExp]>([
  ['refuses the key', 401, problem, /refuses STRIPE_SECRET_KEY/],
  ['has no such price', 404, problem, /has no price [msgp], which STRIPE_PRICES names/],
  ['no longer sells at a price', 200, '{"object":"price","active":false}', /price [msgp] is not active/],
  ['is overloaded', 429, problem, /responded 429/],
  ['is broken', 502, '<html>Bad gateway</html>', /responded 502/],
  ['is not there, but a proxy', 200, '<html>Welcome</html>', /not the payment provider's own/],
  ['responds something else', 200, '[]', /not the payment provider's own/],
  ['shows no prices to this key', 403, problem, /^$/],
  ['works', 200, '{"object":"price","active":true}', /^$/],
])('says what is wrong with a payment provider that %s', async (_name, status, body, reason) => {
  server.answer(status, 'application/json', body);
  expect(await check(server.url)).toMatch(reason);
});

test('says that a payment provider does not respond', async () => {
  expect(await check(`http://127.0.0.1:${await freePort()}`)).toMatch(
    /the payment provider is unreachable: connection refused/,
  );
});
