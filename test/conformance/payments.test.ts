import { beforeEach, describe, expect, it, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { type LineOrder, type PaymentProvider, PaymentsUnavailable } from '#domain/billing/payments.ts';
import { simulatedStripe } from '#providers/payments/simulated.ts';
import { stripePayments } from '#providers/payments/stripe.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { startLossyFront } from '#test/support/lossy-front.ts';
import { charged, forgetIdempotencyKeys, pay } from '#test/support/payments.ts';

let app: TestApp;
let payments: PaymentProvider;
let order: LineOrder;
/** The requests whose responses are lost. */
let lost: RegExp | null;

beforeEach(async () => {
  app = await sharedApp();
  const { simulator } = app.config;
  if (!simulator) throw new Error('the app has no simulator');
  lost = null;
  const { url: baseUrl } = await startLossyFront(
    simulator.url,
    (_, { method, url }) => lost?.test(`${method} ${url}`) ?? false,
  );
  payments = stripePayments({ ...simulatedStripe(simulator), baseUrl });
  const workspaceId = newId();
  order = {
    customerId: await payments.createCustomer({ id: workspaceId, name: 'Acme' }),
    workspaceId,
    lineId: newId(),
    round: 1,
    requestedAt: new Date(),
    channel: 'email',
    description: 'Line (email) for Ada Lovelace',
  };
});

/** Makes a call in vain, until the provider has forgotten its idempotency keys. */
async function loseForADay(responses: RegExp, call: () => Promise<unknown>): Promise<void> {
  lost = responses;
  await expect(call()).rejects.toThrow(PaymentsUnavailable);
  lost = null;
  await forgetIdempotencyKeys(app);
}

describe('a line that the payment provider invoices without an answer', () => {
  it.each([
    ['created', /^POST .*\/invoices$/],
    ['given its item', /^POST .*\/invoiceitems$/],
    ['finalized', /^POST .*\/finalize$/],
  ])('has one invoice, which a call a day after it was %s completes', async (_, step) => {
    await loseForADay(step, () => payments.openInvoice(order));
    const { id, status } = await payments.openInvoice(order);
    expect(status).toBe('open');
    expect((await charged(app, order.workspaceId)).invoices).toMatchObject([
      { id, status: 'open', total: 1500 },
    ]);
  });

  it.each(['paid', 'void'] as const)('has one invoice, which may be %s meanwhile', async (status) => {
    const { id, paymentUrl } = await payments.openInvoice(order);
    if (status === 'paid') await pay(paymentUrl ?? '');
    else await payments.voidInvoice(id);
    await forgetIdempotencyKeys(app);
    expect(await payments.openInvoice(order)).toEqual({ id, status, paymentUrl });
    expect((await charged(app, order.workspaceId)).invoices).toHaveLength(1);
  });

  it("is on the agency's next invoice once", async () => {
    await loseForADay(/^POST .*\/invoiceitems$/, () => payments.addToNextInvoice(order));
    await payments.addToNextInvoice(order);
    expect((await charged(app, order.workspaceId)).pendingItems).toMatchObject([{ amount: 1500 }]);
  });

  it('is found among all invoices and items of the customer', async () => {
    const others = Array.from({ length: 101 }, () => ({ ...order, lineId: newId(), workspaceId: newId() }));
    const { id } = await payments.openInvoice(order);
    const pending = { ...order, lineId: newId() };
    await payments.addToNextInvoice(pending);
    for (const other of others) await payments.openInvoice(other);
    await forgetIdempotencyKeys(app);
    expect(await payments.openInvoice(order)).toMatchObject({ id });
    await payments.addToNextInvoice(pending);
    const { invoices, pendingItems } = await charged(app, order.workspaceId);
    expect([invoices.length, pendingItems.length]).toEqual([1, 1]);
  });
});

test('each line and each of its rounds has its own invoice or item', async () => {
  const of = (round: number): LineOrder => ({ ...order, round });
  for (const each of [of(1), of(2), { ...order, lineId: newId() }]) await payments.openInvoice(each);
  for (const each of [of(3), of(4), { ...order, lineId: newId() }]) await payments.addToNextInvoice(each);
  const { invoices, pendingItems } = await charged(app, order.workspaceId);
  expect([invoices.length, pendingItems.length]).toEqual([3, 3]);
});
