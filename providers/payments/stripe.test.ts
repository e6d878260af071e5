import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { type PaymentProvider, PaymentsUnavailable } from '#domain/billing/payments.ts';
import { startSomebodyElse } from '#test/conformance/http-carrier-worlds.ts';
import { stripePayments } from './stripe.ts';

let server: Awaited<ReturnType<typeof startSomebodyElse>>;
let payments: PaymentProvider;
beforeAll(async () => {
  server = await startSomebodyElse();
  payments = stripePayments({
    apiKey: 'sk',
    webhookSecret: 'whsec',
    baseUrl: server.url,
    prices: { plans: { mini: 'm', starter: 's', growth: 'g' }, lines: { phone: 'p', email: 'e' } },
  });
});
afterAll(() => server.stop());

const order = {
  workspaceId: newId(),
  lineId: newId(),
  round: 1,
  customerId: 'cus_1',
  channel: 'sms',
  description: 'A line',
  requestedAt: new Date(),
} as const;
const CALLS: Record<string, () => Promise<unknown>> = {
  createCustomer: () => payments.createCustomer({ id: newId(), name: 'Acme' }),
  openCardPage: () => payments.openCardPage({ customerId: 'cus_1', returnUrl: 'https://a.example' }),
  openInvoice: () => payments.openInvoice(order),
  readInvoice: () => payments.readInvoice('in_1'),
  voidInvoice: () => payments.voidInvoice('in_1'),
  creditInvoice: () => payments.creditInvoice('in_1'),
  addToNextInvoice: () => payments.addToNextInvoice(order),
  subscribe: () =>
    payments.subscribe({ customerId: 'cus_1', workspaceId: newId(), plan: 'mini', key: newId() }),
  findSubscription: () => payments.findSubscription({ customerId: 'cus_1', workspaceId: newId() }),
  changePlan: () => payments.changePlan({ subscriptionId: 'sub_1', plan: 'mini', key: newId() }),
  readSubscription: () => payments.readSubscription('sub_1'),
};

test.each(['{}', '[]', 'null', '{"data":[]}', '{"object":"list","data":{}}', '<html>Welcome</html>'])(
  'says that payments are unavailable if something else answers: %s',
  async (body) => {
    server.answer(200, 'application/json', body);
    const failures = await Promise.all(
      Object.values(CALLS).map((call) =>
        call().then(
          () => null,
          (error: Error) => error.constructor,
        ),
      ),
    );
    expect(failures).toEqual(failures.map(() => PaymentsUnavailable));
  },
);
