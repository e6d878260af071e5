import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Plan, PLANS } from '#domain/billing/entitlement.ts';
import { newId } from '#domain/base/ids.ts';
import type { LineOrder, PaymentProvider } from '#domain/billing/payments.ts';
import { stripePayments } from '#providers/payments/stripe.ts';
import { type SentRequest, startRecorder } from './openapi-contract.ts';

export const startStripePayments = (baseUrl: string): PaymentProvider =>
  stripePayments({
    apiKey: 'sk_test_123',
    webhookSecret: 'whsec_contract',
    baseUrl,
    prices: {
      plans: Object.fromEntries(PLANS.map((plan) => [plan, `price_${plan}`])) as Record<Plan, string>,
      lines: { phone: 'price_phone', email: 'price_email' },
    },
  });

/** Everything that Stripe is asked to do. */
export function stripeCalls(payments: PaymentProvider): Record<string, () => Promise<unknown>> {
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
  return {
    createCustomer: () => payments.createCustomer({ id: newId(), name: 'Grüße & Co' }),
    openCardPage: () => payments.openCardPage({ customerId: 'cus_1', returnUrl: 'https://a.example/b' }),
    setDefaultCard: () => payments.setDefaultCard({ customerId: 'cus_1', setupId: 'seti_1' }),
    openInvoice: () => payments.openInvoice(order),
    readInvoice: () => payments.readInvoice('in_1'),
    voidInvoice: () => payments.voidInvoice('in_1'),
    creditInvoice: () => payments.creditInvoice('in_1'),
    addToNextInvoice: () => payments.addToNextInvoice(order),
    subscribe: () =>
      payments.subscribe({ customerId: 'cus_1', workspaceId: newId(), plan: 'growth', key: 'contract' }),
    findSubscription: () => payments.findSubscription({ customerId: 'cus_1', workspaceId: newId() }),
    changePlan: () => payments.changePlan({ subscriptionId, plan: 'starter', key: 'contract' }),
    readSubscription: () => payments.readSubscription(subscriptionId),
    readPrices: () => payments.readPrices(),
  };
}

/** The requests of all calls, by their responses of the longest way: a draft to be finalized, an unpaid plan to be paid. */
export async function recordStripeRequests(): Promise<SentRequest[]> {
  const stripe = createServer((request, response) => {
    const { method = '', url = '' } = request;
    const status = url.startsWith('/v1/subscriptions') ? 'past_due' : method === 'GET' ? 'open' : 'draft';
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...ANSWER, status }));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => stripe.once('listening', resolve));
  const recorder = await startRecorder(`http://127.0.0.1:${(stripe.address() as AddressInfo).port}`);
  try {
    for (const call of Object.values(stripeCalls(startStripePayments(recorder.url)))) await call();
    return recorder.requests;
  } finally {
    await recorder.close();
    stripe.close();
  }
}

/** Any object of Stripe's: what is read from each. */
const ANSWER = {
  id: 'id_1',
  url: 'https://checkout.example/1',
  payment_method: 'pm_1',
  latest_invoice: 'in_1',
  total: 1500,
  metadata: {},
  items: { data: [{ id: 'si_1' }] },
  lines: { data: [] },
  object: 'list',
  data: [],
  has_more: false,
};
