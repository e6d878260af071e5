import Router from '@koa/router';
import type { Context } from 'koa';
import { z } from 'zod';
import type { SimulatorContext, SimulatorPart } from './part.ts';
import { createPaymentCallbacks } from './payments-callbacks.ts';
import {
  type CardPage,
  createLedger,
  type Invoice,
  type Ledger,
  type LedgerEntry,
  newInvoice,
  newPaymentId,
  type PaymentEvent,
  type Subscription,
  unixNow,
} from './payments-ledger.ts';
import { cardPage, payPage } from './payments-page.ts';
import { stripeRoutes } from './payments-stripe.ts';

/**
 * The simulated payment provider: a subset of Stripe's API under `/v1`, its hosted invoice page, and its controls under
 * `/simulated/payments`. Every customer has a saved card.
 */
export function simulatePayments(simulator: SimulatorContext): SimulatorPart {
  const journal = simulator.openJournal<LedgerEntry>('payments');
  const ledger = createLedger(journal);
  const { secret, callbackBaseUrl, log } = simulator;
  const callbacks = createPaymentCallbacks({ secret, log, url: `${callbackBaseUrl}/callbacks/payments` });

  const deliver = (event: PaymentEvent): Promise<void> =>
    callbacks.deliver(event, () => void ledger.put('event', { id: event.id, event: null }));
  const emit = (type: string, object: Invoice | Subscription | CardPage): Promise<void> => {
    const event: PaymentEvent = {
      id: newPaymentId('evt'),
      object: 'event',
      type,
      created: unixNow(),
      data: { object },
    };
    ledger.put('event', { id: event.id, event });
    return deliver(event);
  };
  for (const { event } of ledger.all('event')) if (event) void deliver(event);

  const declines = (workspaceId: string | undefined): boolean =>
    ledger.get('declines', workspaceId ?? '')?.declines ?? false;
  const routes = new Router();
  stripeRoutes(routes, {
    ledger,
    emit,
    declines,
    apiKey: `sk_test_${secret}`,
    payUrl: (id) => `${callbackBaseUrl}/simulated/pay/${id}`,
    cardUrl: (id) => `${callbackBaseUrl}/simulated/card/${id}`,
  });

  const invoiceOf = (context: Context): Invoice | undefined => {
    const invoice = ledger.get('invoice', String(context['params'].invoiceId));
    return invoice?.status === 'draft' ? undefined : invoice;
  };

  routes.get('/simulated/pay/:invoiceId', (context) => show(context, invoiceOf(context)));

  routes.post('/simulated/pay/:invoiceId', async (context) => {
    const invoice = invoiceOf(context);
    if (invoice?.status !== 'open') return show(context, invoice);
    if (declines(invoice.metadata['workspace_id'])) {
      await emit('invoice.payment_failed', invoice);
      return show(context, invoice, 'The card was declined. Nothing was charged.');
    }
    const paid = ledger.put('invoice', { ...invoice, status: 'paid', amount_paid: invoice.amount_due });
    await emit('invoice.paid', paid);
    show(context, paid);
  });

  const cardPageOf = (context: Context): CardPage | undefined =>
    ledger.get('card_page', String(context['params'].pageId));

  routes.get('/simulated/card/:pageId', (context) => showCard(context, cardPageOf(context)));

  routes.post('/simulated/card/:pageId', async (context) => {
    const page = cardPageOf(context);
    if (page?.status !== 'open') return showCard(context, page);
    const saved = ledger.put('card_page', { ...page, status: 'complete' });
    await emit('checkout.session.completed', saved);
    showCard(context, saved);
  });

  routes.post('/simulated/payments/subscriptions/:subscriptionId', async (context) => {
    const { status } = z
      .object({ status: z.enum(['active', 'past_due', 'canceled']) })
      .parse(context.request.body);
    const subscription = ledger.get('subscription', context.params['subscriptionId'] ?? '');
    if (!subscription) return notFound(context, 'There is no such subscription');
    const owed = status === 'past_due' ? openInvoice(ledger, subscription.customer) : null;
    const changed = ledger.put('subscription', { ...subscription, status, latest_invoice: owed });
    await emit(
      status === 'canceled' ? 'customer.subscription.deleted' : 'customer.subscription.updated',
      changed,
    );
    context.body = { success: true, subscriptionId: changed.id, status };
  });

  routes.post('/simulated/payments/settings', (context) => {
    const { workspaceId, cardDeclines } = z
      .object({ workspaceId: z.string(), cardDeclines: z.boolean() })
      .parse(context.request.body);
    ledger.put('declines', { id: workspaceId, declines: cardDeclines });
    context.body = { success: true, workspaceId, cardDeclines };
  });

  // Stripe forgets idempotency keys after a day.
  routes.post('/simulated/payments/forget-keys', (context) => {
    for (const answer of ledger.all('answer')) ledger.put('answer', { ...answer, isForgotten: true });
    context.body = { success: true };
  });

  // Lists all charges, so that missing and duplicate ones can be detected.
  routes.get('/simulated/payments/workspaces/:workspaceId', (context) => {
    const ofWorkspace = ({ metadata }: { metadata: Record<string, string> }): boolean =>
      metadata['workspace_id'] === context.params['workspaceId'];
    const invoices = ledger.all('invoice').filter(ofWorkspace);
    const subscriptions = ledger.all('subscription').filter(ofWorkspace);
    context.body = {
      invoices,
      creditNotes: ledger
        .all('credit_note')
        .filter(({ invoice }) => invoices.some(({ id }) => id === invoice)),
      pendingItems: ledger.all('invoiceitem').filter((item) => item.invoice === null && ofWorkspace(item)),
      subscriptions,
      customers: ledger
        .all('customer')
        .filter(({ id }) => [...invoices, ...subscriptions].some(({ customer }) => customer === id)),
    };
  });

  return {
    routes,
    async stop() {
      callbacks.stop();
      journal.close();
    },
  };
}

/** In cents. */
const OWED = 4900;

/** What a subscription owes when its payment failed. @returns its id. */
const openInvoice = (ledger: Ledger, customer: string): string =>
  ledger.put('invoice', newInvoice(customer, { status: 'open', total: OWED, amount_due: OWED })).id;

function show(context: Context, invoice: Invoice | undefined, problem?: string): void {
  if (!invoice) return notFound(context, 'There is no such invoice');
  context.type = 'text/html; charset=utf-8';
  context.body = payPage(invoice, problem);
}

function showCard(context: Context, page: CardPage | undefined): void {
  if (!page) return notFound(context, 'There is no such page');
  context.type = 'text/html; charset=utf-8';
  context.body = cardPage(page);
}

function notFound(context: Context, error: string): void {
  context.status = 404;
  context.body = { error, code: 'NOT_FOUND' };
}
