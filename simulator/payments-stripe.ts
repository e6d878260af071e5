import type Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import {
  type Invoice,
  type InvoiceItem,
  type Ledger,
  newInvoice,
  newPaymentId,
  priceOf,
  type Subscription,
  unixNow,
} from './payments-ledger.ts';

export interface StripeRoutesOptions {
  ledger: Ledger;
  /** Posts an event to the product. It is not awaited, so it may arrive before the response. */
  emit: (type: string, object: Invoice | Subscription) => Promise<void>;
  declines: (workspaceId: string | undefined) => boolean;
  apiKey: string;
  payUrl: (invoiceId: string) => string;
  cardUrl: (pageId: string) => string;
}

const Metadata = z.record(z.string(), z.string()).default({});
const CustomerParams = z.object({ name: z.string().optional(), metadata: Metadata });
const CustomerChange = z.object({ invoice_settings: z.object({ default_payment_method: z.string() }) });
const CardPageParams = z.object({ mode: z.literal('setup'), customer: z.string(), success_url: z.url() });
const InvoiceParams = z.object({ customer: z.string(), metadata: Metadata });
const ItemParams = z.object({
  customer: z.string(),
  invoice: z.string().optional(),
  pricing: z.object({ price: z.string() }),
  description: z.string().default(''),
  metadata: Metadata,
});
const SubscriptionParams = z.object({
  customer: z.string(),
  items: z.array(z.object({ price: z.string() })).length(1),
  metadata: Metadata,
});
const SubscriptionChange = z.object({
  items: z
    .array(z.object({ id: z.string(), price: z.string() }))
    .length(1)
    .optional(),
  metadata: Metadata,
});
const ListParams = z.object({
  customer: z.string(),
  'created[gte]': z.coerce.number().int().default(0),
  limit: z.coerce.number().int().min(1).max(100).default(10),
  starting_after: z.string().optional(),
});
const CreditParams = z.object({
  invoice: z.string(),
  amount: z.coerce.number().int(),
  credit_amount: z.coerce.number().int(),
});

interface StripeResponse {
  status: number;
  body: unknown;
}

/** An error in Stripe's form. */
class Refused extends Error {
  readonly response: StripeResponse;

  constructor(status: number, type: string, code: string, message: string) {
    super(message);
    this.response = { status, body: { error: { type, code, message } } };
  }
}

const missing = (what: string, id: string): Refused =>
  new Refused(404, 'invalid_request_error', 'resource_missing', `No such ${what}: '${id}'`);
const reused = (key: string): Refused =>
  new Refused(
    400,
    'idempotency_error',
    'idempotency_error',
    `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
  );
const declined = (): Refused => new Refused(402, 'card_error', 'card_declined', 'Your card was declined.');

/** The part of Stripe's API that `providers/payments/stripe.ts` uses: form-encoded requests, JSON responses, idempotency keys. */
export function stripeRoutes(
  routes: Router,
  { ledger, emit, declines, apiKey, payUrl, cardUrl }: StripeRoutesOptions,
): void {
  function existing<Is extends 'customer' | 'invoice' | 'subscription'>(is: Is, id: string) {
    const value = ledger.get(is, id);
    if (!value) throw missing(is, id);
    return value;
  }

  function respond(context: Context, work: () => unknown): void {
    const key = context.method === 'POST' ? context.get('idempotency-key') : '';
    if (context.get('authorization') !== `Bearer ${apiKey}`) {
      return send(
        context,
        new Refused(401, 'invalid_request_error', 'api_key_invalid', 'Invalid API key provided').response,
      );
    }
    const earlier = key === '' ? undefined : ledger.get('answer', key);
    const request = JSON.stringify([context.path, context.request.body]);
    if (earlier && !earlier.isForgotten) {
      if (earlier.request !== request) return send(context, reused(key).response);
      context.set('Idempotent-Replayed', 'true');
      return send(context, earlier);
    }
    const response = attempt(work);
    if (key !== '') ledger.put('answer', { id: key, request, ...response });
    send(context, response);
  }

  const post = (path: string, work: (body: unknown, id: string) => unknown): void => {
    routes.post(path, (context) =>
      respond(context, () => work(context.request.body, String(context['params'].id))),
    );
  };
  const get = (path: string, work: (id: string, context: Context) => unknown): void => {
    routes.get(path, (context) => respond(context, () => work(String(context['params'].id), context)));
  };

  post('/v1/customers', (body) => {
    const { name, metadata } = CustomerParams.parse(body);
    return ledger.put('customer', {
      id: newPaymentId('cus'),
      object: 'customer',
      name: name ?? null,
      balance: 0,
      invoice_settings: { default_payment_method: null },
      metadata,
    });
  });

  post('/v1/customers/:id', (body, id) =>
    ledger.put('customer', { ...existing('customer', id), ...CustomerChange.parse(body) }),
  );

  post('/v1/checkout/sessions', (body) => {
    const { mode, customer, success_url: returnUrl } = CardPageParams.parse(body);
    existing('customer', customer);
    const id = newPaymentId('cs');
    return ledger.put('card_page', {
      id,
      object: 'checkout.session',
      mode,
      status: 'open',
      customer,
      setup_intent: id.replace('cs_', 'seti_'),
      success_url: returnUrl,
      url: cardUrl(id),
    });
  });

  get('/v1/setup_intents/:id', (id) => {
    const page = ledger.get('card_page', id.replace('seti_', 'cs_'));
    if (!page) throw missing('setupintent', id);
    const saved = page.status === 'complete';
    return {
      id,
      object: 'setup_intent',
      customer: page.customer,
      status: saved ? 'succeeded' : 'requires_payment_method',
      payment_method: saved ? id.replace('seti_', 'pm_') : null,
    };
  });

  post('/v1/invoices', (body) => {
    const { customer, metadata } = InvoiceParams.parse(body);
    existing('customer', customer);
    return ledger.put('invoice', newInvoice(customer, { metadata }));
  });

  post('/v1/invoiceitems', (body) => {
    const { customer, invoice: invoiceId, pricing, description, metadata } = ItemParams.parse(body);
    existing('customer', customer);
    const amount = priceOf(pricing.price);
    if (amount === null) throw missing('price', pricing.price);
    if (invoiceId !== undefined) {
      const { lines, total, ...invoice } = existing('invoice', invoiceId);
      ledger.put('invoice', {
        ...invoice,
        total: total + amount,
        lines: { ...lines, data: [...lines.data, { description, amount }] },
      });
    }
    return ledger.put('invoiceitem', {
      id: newPaymentId('ii'),
      object: 'invoiceitem',
      customer,
      invoice: invoiceId ?? null,
      description,
      amount,
      metadata,
      date: unixNow(),
    });
  });

  post('/v1/invoices/:id/finalize', (_, id) => {
    const draft = existing('invoice', id);
    if (draft.status !== 'draft')
      throw new Refused(
        400,
        'invalid_request_error',
        'invoice_already_finalized',
        'This invoice is already finalized',
      );
    const customer = existing('customer', draft.customer);
    const credit = Math.min(draft.total, -customer.balance);
    if (credit > 0) ledger.put('customer', { ...customer, balance: customer.balance + credit });
    const due = draft.total - credit;
    const status = due === 0 ? 'paid' : 'open';
    const invoice = ledger.put('invoice', {
      ...draft,
      status,
      amount_due: due,
      hosted_invoice_url: payUrl(id),
    });
    if (status === 'paid') void emit('invoice.paid', invoice);
    return invoice;
  });

  post('/v1/invoices/:id/void', (_, id) => {
    const invoice = existing('invoice', id);
    if (invoice.status !== 'open')
      throw new Refused(
        400,
        'invalid_request_error',
        'invoice_not_editable',
        'Only an open invoice can be voided',
      );
    const voided = ledger.put('invoice', { ...invoice, status: 'void' });
    void emit('invoice.voided', voided);
    return voided;
  });

  post('/v1/invoices/:id/pay', (_, id) => {
    const invoice = existing('invoice', id);
    if (invoice.status !== 'open')
      throw new Refused(400, 'invalid_request_error', 'invoice_already_paid', 'Invoice is not open');
    const subscription = ledger.all('subscription').find(({ latest_invoice: latest }) => latest === id);
    if (declines(subscription?.metadata['workspace_id'])) throw declined();
    const paid = ledger.put('invoice', { ...invoice, status: 'paid', amount_paid: invoice.amount_due });
    void emit('invoice.paid', paid);
    if (subscription?.status === 'past_due')
      void emit(
        'customer.subscription.updated',
        ledger.put('subscription', { ...subscription, status: 'active' }),
      );
    return paid;
  });

  get('/v1/invoices', (_, context) => pageOf(ledger.all('invoice'), context.query));

  get('/v1/invoiceitems', (_, context) => pageOf(ledger.all('invoiceitem'), context.query));

  get('/v1/prices/:id', (id) => {
    const amount = priceOf(id);
    if (amount === null)
      throw new Refused(404, 'invalid_request_error', 'resource_missing', `No such price: '${id}'`);
    const isPlan = id.startsWith('price_plan_');
    return {
      id,
      object: 'price',
      active: true,
      currency: 'usd',
      unit_amount: amount,
      recurring: isPlan ? { interval: 'month', interval_count: 1 } : null,
    };
  });

  get('/v1/invoices/:id', (id) => existing('invoice', id));

  post('/v1/credit_notes', (body) => {
    const { invoice: invoiceId, amount, credit_amount: credit } = CreditParams.parse(body);
    const invoice = existing('invoice', invoiceId);
    if (invoice.status !== 'paid' || credit > invoice.total) {
      throw new Refused(
        400,
        'invalid_request_error',
        'invalid_credit',
        'The invoice cannot be credited with this amount',
      );
    }
    const customer = existing('customer', invoice.customer);
    ledger.put('customer', { ...customer, balance: customer.balance - credit });
    return ledger.put('credit_note', {
      id: newPaymentId('cn'),
      object: 'credit_note',
      invoice: invoiceId,
      amount,
    });
  });

  get('/v1/credit_notes', (_, context) => {
    const data = ledger.all('credit_note').filter(({ invoice }) => invoice === context.query['invoice']);
    return { object: 'list', data, has_more: false };
  });

  post('/v1/subscriptions', (body) => {
    const { customer, items, metadata } = SubscriptionParams.parse(body);
    existing('customer', customer);
    if (declines(metadata['workspace_id'])) throw declined();
    const subscription = ledger.put('subscription', {
      id: newPaymentId('sub'),
      object: 'subscription',
      customer,
      status: 'active',
      latest_invoice: null,
      items: { data: items.map(({ price }) => ({ id: newPaymentId('si'), price })) },
      metadata,
      created: unixNow(),
    });
    void emit('customer.subscription.created', subscription);
    return subscription;
  });

  post('/v1/subscriptions/:id', (body, id) => {
    const { items, metadata } = SubscriptionChange.parse(body);
    const before = existing('subscription', id);
    if (items && declines(before.metadata['workspace_id'])) throw declined();
    const subscription = ledger.put('subscription', {
      ...before,
      items: items ? { data: items } : before.items,
      metadata: { ...before.metadata, ...metadata },
    });
    void emit('customer.subscription.updated', subscription);
    return subscription;
  });

  get('/v1/subscriptions', (_, context) => {
    const live = ledger.all('subscription').filter(({ status }) => status !== 'canceled');
    return pageOf(live, context.query);
  });

  get('/v1/subscriptions/:id', (id) => existing('subscription', id));
}

/** A page of a list, newest first. @param objects oldest first. */
function pageOf(objects: (Invoice | InvoiceItem | Subscription)[], query: unknown) {
  const { customer, 'created[gte]': since, limit, starting_after: after } = ListParams.parse(query);
  const found = objects
    .filter((one) => one.customer === customer && ('date' in one ? one.date : one.created) >= since)
    .toReversed();
  const start = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1;
  return { object: 'list', data: found.slice(start, start + limit), has_more: start + limit < found.length };
}

function attempt(work: () => unknown): StripeResponse {
  try {
    return { status: 200, body: work() };
  } catch (error) {
    if (error instanceof Refused) return error.response;
    if (!(error instanceof z.ZodError)) throw error;
    const message = z.prettifyError(error);
    return {
      status: 400,
      body: { error: { type: 'invalid_request_error', code: 'parameter_invalid', message } },
    };
  }
}

function send(context: Context, { status, body }: StripeResponse): void {
  context.status = status;
  context.body = body;
}
