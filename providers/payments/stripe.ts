import Stripe from 'stripe';
import { z } from 'zod';
import { listOf } from '#domain/base/bounded-schema.ts';
import { Id } from '#domain/base/ids.ts';
import { lineKind, Plan as PlanSchema } from '#domain/billing/entitlement.ts';
import {
  BadPaymentSignature,
  CardDeclined,
  type Invoice,
  type LineOrder,
  NoSuchSubscription,
  type PaymentEvent,
  type PaymentProvider,
  PaymentsUnavailable,
  Price,
  type Prices,
  type Subscription,
  UnreadablePaymentCallback,
} from '#domain/billing/payments.ts';
import { yielding } from '#domain/base/turns.ts';
import { parseUntrustedJson, tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { boundedFetch } from '../bounded-fetch.ts';
import { type StripeOptions, STRIPE_API_VERSION } from './stripe-api.ts';

const TIMEOUT_MS = 10_000;
/** More than a page of a hundred invoices. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/** Stripe's client retries with the same idempotency key. */
const RETRIES = 2;
const DAYS_UNTIL_DUE = 30;
const PRICES_REMEMBERED_MS = 10 * 60_000;
/** How much the clocks of PostgreSQL and Stripe may differ. */
const CLOCK_TOLERANCE_S = 3600;
/** A callback that was signed longer ago is refused. */
const SIGNATURE_TOLERANCE_S = 300;

/** Stripe, or any server with the same API. */
export function stripePayments({
  apiKey,
  webhookSecret,
  baseUrl,
  caFile = null,
  prices,
}: StripeOptions): PaymentProvider {
  const stripe = new Stripe(apiKey, {
    ...addressOf(baseUrl),
    apiVersion: STRIPE_API_VERSION,
    httpClient: Stripe.createFetchHttpClient(ownAnswers(boundedFetch(MAX_RESPONSE_BYTES, caFile))),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  });

  const lineItem = ({
    customerId,
    channel,
    description,
    ...order
  }: LineOrder): Stripe.InvoiceItemCreateParams => ({
    customer: customerId,
    pricing: { price: prices.lines[lineKind(channel)] },
    description,
    metadata: metadataOf(order),
  });

  const readPrice = async (id: string): Promise<Price | null> => {
    const { unit_amount: amount, currency, recurring } = await stripe.prices.retrieve(id);
    // It may be in tiers, or in parts of a cent.
    const read = Price.safeParse({
      amount,
      currency,
      interval: recurring?.interval ?? null,
      intervalCount: recurring?.interval_count ?? 1,
    });
    return read.success ? read.data : null;
  };
  const readAll = async <K extends string>(ids: Record<K, string>): Promise<Record<K, Price | null>> => {
    const read = Object.entries<string>(ids).map(async ([name, id]) => [name, await readPrice(id)] as const);
    return Object.fromEntries(await Promise.all(read)) as Record<K, Price | null>;
  };
  let remembered: { prices: Prices; until: number } | null = null;

  return {
    createCustomer: ({ id, name }) =>
      translated(async () => {
        const customer = await stripe.customers.create(
          { name, metadata: { payer_id: id } },
          { idempotencyKey: `customer:${id}` },
        );
        return customer.id;
      }),

    openCardPage: ({ customerId, returnUrl }) =>
      translated(async () => {
        const { url } = await stripe.checkout.sessions.create({
          mode: 'setup',
          customer: customerId,
          allowed_payment_method_types: ['card'],
          success_url: returnUrl,
        });
        if (url === null) throw new PaymentsUnavailable('the payment provider returned no URL');
        return url;
      }),

    setDefaultCard: ({ customerId, setupId }) =>
      translated(async () => {
        const { payment_method: method } = await stripe.setupIntents.retrieve(setupId);
        const card = typeof method === 'string' ? method : method?.id;
        if (card === undefined) return;
        await stripe.customers.update(customerId, { invoice_settings: { default_payment_method: card } });
      }),

    openInvoice: (order) =>
      translated(async () => {
        const key = keyOf(order);
        // Created empty and then given its item, so that it does not include other pending items of the customer.
        const invoice =
          (await findOf(order, stripe.invoices.list(since(order)))) ??
          (await stripe.invoices.create(
            {
              customer: order.customerId,
              collection_method: 'send_invoice',
              days_until_due: DAYS_UNTIL_DUE,
              auto_advance: false,
              pending_invoice_items_behavior: 'exclude',
              metadata: metadataOf(order),
            },
            { idempotencyKey: `${key}:invoice` },
          ));
        if (invoice.status !== 'draft') return readInvoice(invoice);
        if (invoice.lines.data.length === 0)
          await stripe.invoiceItems.create(
            { ...lineItem(order), invoice: invoice.id },
            { idempotencyKey: `${key}:item` },
          );
        return readInvoice(
          await stripe.invoices.finalizeInvoice(
            invoice.id,
            { auto_advance: false },
            { idempotencyKey: `${key}:finalize` },
          ),
        );
      }),

    readInvoice: (invoiceId) =>
      translated(async () => readInvoice(await stripe.invoices.retrieve(invoiceId))),

    voidInvoice: (invoiceId) =>
      translated(async () => {
        const invoice = readInvoice(await stripe.invoices.retrieve(invoiceId));
        if (invoice.status !== 'open') return invoice;
        try {
          return readInvoice(await stripe.invoices.voidInvoice(invoiceId));
        } catch (error) {
          // It was paid or voided after it was read.
          if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
          const now = readInvoice(await stripe.invoices.retrieve(invoiceId));
          if (now.status === 'open') throw error;
          return now;
        }
      }),

    creditInvoice: (invoiceId) =>
      translated(async () => {
        const { total } = await stripe.invoices.retrieve(invoiceId);
        const notes = await stripe.creditNotes.list({ invoice: invoiceId, limit: 1 });
        if (total === 0 || notes.data.length > 0) return;
        await stripe.creditNotes.create(
          { invoice: invoiceId, amount: total, credit_amount: total },
          { idempotencyKey: `credit:${invoiceId}` },
        );
      }),

    addToNextInvoice: (order) =>
      translated(async () => {
        if (await findOf(order, stripe.invoiceItems.list(since(order)))) return;
        await stripe.invoiceItems.create(lineItem(order), { idempotencyKey: `${keyOf(order)}:next-invoice` });
      }),

    subscribe: ({ customerId, workspaceId, plan, key }) =>
      translated(async () =>
        readSubscription(
          await stripe.subscriptions.create(
            {
              customer: customerId,
              items: [{ price: prices.plans[plan] }],
              payment_behavior: 'error_if_incomplete',
              off_session: true,
              metadata: { workspace_id: workspaceId, plan },
            },
            { idempotencyKey: key },
          ),
        ),
      ),

    findSubscription: ({ customerId, workspaceId }) =>
      translated(async () => {
        // All that have not been canceled: an agency has one for each of its workspaces.
        for await (const one of stripe.subscriptions.list({ customer: customerId, limit: 100 })) {
          const subscription = readSubscription(one);
          const isLive = subscription.status === 'active' || subscription.status === 'past_due';
          if (isLive && subscription.workspaceId === workspaceId) return subscription;
        }
        return null;
      }),

    changePlan: ({ subscriptionId, plan, key }) =>
      translated(async () => {
        const { items, status, latest_invoice: latest } = await stripe.subscriptions.retrieve(subscriptionId);
        const [item] = items.data;
        if (!item) throw new NoSuchSubscription(subscriptionId);
        // A subscription is past due until its latest invoice is paid, whatever its plan is.
        if (status === 'past_due' && latest !== null)
          await stripe.invoices.pay(idOf(latest), { off_session: true }, { idempotencyKey: `${key}:pay` });
        const changed = await stripe.subscriptions.update(
          subscriptionId,
          {
            items: [{ id: item.id, price: prices.plans[plan] }],
            proration_behavior: 'always_invoice',
            payment_behavior: 'error_if_incomplete',
            off_session: true,
            metadata: { plan },
          },
          { idempotencyKey: key },
        );
        return readSubscription(changed);
      }),

    readSubscription: (subscriptionId) =>
      translated(async () => readSubscription(await stripe.subscriptions.retrieve(subscriptionId))),

    async readPrices() {
      if (remembered && remembered.until > performance.now()) return remembered.prices;
      const [plans, lines] = await translated(() =>
        Promise.all([readAll(prices.plans), readAll(prices.lines)]),
      );
      remembered = { prices: { plans, lines }, until: performance.now() + PRICES_REMEMBERED_MS };
      return remembered.prices;
    },

    async parseCallback(rawBody, signature) {
      if (signature !== '' && !SIGNATURE.test(signature)) {
        throw new UnreadablePaymentCallback('Stripe-Signature', 'must be t=<seconds>,v1=<signature>');
      }
      if (rawBody === '') throw new UnreadablePaymentCallback('', 'the body is empty');
      return readEvent(verifiedEvent(stripe, rawBody, signature, webhookSecret));
    },
  };
}

/** Stripe's own limit. */
const MAX_LISTED = 100;
/** All that Stripe answers says what it is; lists also what they contain. */
const Answer = z.union([
  z.object({ object: z.literal('list'), data: listOf(z.unknown(), MAX_LISTED) }),
  z.object({ object: z.string().refine((name) => name !== 'list') }),
]);

/** Fails for answers that are not Stripe's: a proxy's empty list must not prove that there is no subscription. */
const ownAnswers =
  (request: typeof fetch): typeof fetch =>
  async (...sent) => {
    const response = await request(...sent);
    if (!response.ok) return response;
    const { status, headers } = response;
    const body = await response.text();
    if (!Answer.safeParse(tryParseUntrustedJson(body)).success)
      throw new Error("the response is not the payment provider's own");
    return new Response(body, { status, headers });
  };

function addressOf(baseUrl: string | undefined): Stripe.StripeConfig {
  if (baseUrl === undefined) return {};
  const { protocol, hostname, port } = new URL(baseUrl);
  const secure = protocol === 'https:';
  return {
    protocol: secure ? 'https' : 'http',
    host: hostname,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
  };
}

const keyOf = ({ lineId, round }: LineOrder): string => `line:${lineId}:${round}`;

const metadataOf = ({ workspaceId, lineId, round }: Pick<LineOrder, 'workspaceId' | 'lineId' | 'round'>) => ({
  workspace_id: workspaceId,
  line_request_id: lineId,
  round: String(round),
});

const since = ({ customerId, requestedAt }: LineOrder) => ({
  customer: customerId,
  created: { gte: Math.floor(requestedAt.getTime() / 1000) - CLOCK_TOLERANCE_S },
  limit: 100,
});

/**
 * What an earlier try has created for a line and round. Stripe forgets an idempotency key after a day, but a try may be repeated
 * later. Stripe's search would miss what was created a moment ago.
 */
async function findOf<T extends Pick<Stripe.Invoice, 'metadata'>>(
  { lineId, round }: LineOrder,
  listed: AsyncIterable<T>,
): Promise<T | null> {
  for await (const one of yielding(listed)) {
    const { line_request_id: ofLine, round: ofRound } = one.metadata ?? {};
    if (ofLine === lineId && ofRound === String(round)) return one;
  }
  return null;
}

/** Drafts and uncollectible invoices, which can still be paid, count as open. */
function readInvoice({
  id,
  status,
  hosted_invoice_url: url,
}: Pick<Stripe.Invoice, 'id' | 'status' | 'hosted_invoice_url'>): Invoice {
  const settled = status === 'paid' ? 'paid' : status === 'void' ? 'void' : 'open';
  return { id, status: settled, paymentUrl: url ?? null };
}

const SUBSCRIPTION_STATUS: Record<string, Subscription['status']> = {
  active: 'active',
  trialing: 'active',
  past_due: 'past_due',
  unpaid: 'past_due',
  canceled: 'canceled',
  incomplete_expired: 'canceled',
};

const idOf = (object: string | { id?: string }): string =>
  typeof object === 'string' ? object : (object.id ?? '');

function readSubscription({ id, status, metadata }: Stripe.Subscription): Subscription {
  return {
    id,
    status: SUBSCRIPTION_STATUS[status] ?? 'none',
    workspaceId: metadata['workspace_id'] ?? null,
    plan: PlanSchema.safeParse(metadata['plan']).data ?? null,
  };
}

const INVOICE_EVENTS: Record<string, Extract<PaymentEvent, { kind: 'invoice' }>['type']> = {
  'invoice.paid': 'paid',
  'invoice.voided': 'voided',
  'invoice.payment_failed': 'payment_failed',
};

/** The header may contain other schemes besides `v1`. */
const SIGNATURE = /^(?=(?:.*,)?t=\d+(?:,|$))(?=(?:.*,)?v1=[0-9a-f]+(?:,|$))\w+=\w+(?:,\w+=\w+)*$/;

const NOT_AN_EVENT = 'the body is not an event';

const StripeId = z.string().regex(/^[\w-]{1,255}$/);

/** The fields common to all events. */
const EventBody = z.object({
  // Events of the newer API are about other objects.
  object: z.literal('event').optional(),
  id: StripeId,
  type: z.string(),
  data: z.object({ object: z.looseObject({ object: z.string().optional() }) }),
});
const SubscriptionBody = z.object({ id: StripeId });
const InvoiceBody = z.object({
  id: StripeId,
  status: z.enum(['draft', 'open', 'paid', 'uncollectible', 'void']).nullable(),
  hosted_invoice_url: z.string().nullable().default(null),
  metadata: z.record(z.string(), z.string()).nullish(),
});
const SetupBody = z.object({ mode: z.literal('setup'), customer: StripeId, setup_intent: StripeId });
/** Written by `metadataOf`. */
const LineMetadata = z.object({ line_request_id: Id, round: z.coerce.number().int().min(1).max(1_000_000) });

/** @throws BadPaymentSignature, UnreadablePaymentCallback */
function verifiedEvent(
  stripe: Stripe,
  rawBody: string,
  signature: string,
  secret: string,
): z.infer<typeof EventBody> {
  const { signature: verifier } = stripe.webhooks;
  if (!verifier) throw new Error('this version of the Stripe client verifies no signatures');
  let event: unknown;
  try {
    verifier.verifyHeader(rawBody, signature, secret, SIGNATURE_TOLERANCE_S);
    event = parseUntrustedJson(rawBody);
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError)
      throw new BadPaymentSignature(error.message);
    // The signature is valid, but the body is not JSON or not an event.
    throw new UnreadablePaymentCallback('', NOT_AN_EVENT);
  }
  return parsed(EventBody, event);
}

function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path.join('.') ?? '';
  throw new UnreadablePaymentCallback('', path === '' ? NOT_AN_EVENT : `${NOT_AN_EVENT}: see ${path}`);
}

function readEvent({ id, type, data: { object } }: z.infer<typeof EventBody>): PaymentEvent | null {
  if (type === 'checkout.session.completed') return readCard(id, object);
  if (object.object === 'subscription')
    return { kind: 'subscription', id, subscriptionId: parsed(SubscriptionBody, object).id };
  const fact = INVOICE_EVENTS[type];
  if (object.object !== 'invoice' || fact === undefined) return null;
  const invoice = parsed(InvoiceBody, object);
  const ours = LineMetadata.safeParse(invoice.metadata);
  // Invoices of subscriptions are covered by the events of the subscription.
  if (!ours.success) return null;
  const { line_request_id: lineId, round } = ours.data;
  return { kind: 'invoice', id, type: fact, lineId, round, invoice: readInvoice(invoice) };
}

function readCard(id: string, session: unknown): PaymentEvent | null {
  const card = SetupBody.safeParse(session);
  return card.success
    ? { kind: 'card', id, customerId: card.data.customer, setupId: card.data.setup_intent }
    : null;
}

/** Translates Stripe's errors, whose messages may quote the request and must not be exposed. */
async function translated<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    const noCard = error.code === 'resource_missing' && /payment (source|method)/.test(error.message);
    if (error instanceof Stripe.errors.StripeCardError || noCard)
      throw new CardDeclined(error.code ?? 'card_declined', { cause: error });
    if (error.code === 'resource_missing' && error.message.includes('subscription')) {
      throw new NoSuchSubscription('the subscription does not exist', { cause: error });
    }
    throw new PaymentsUnavailable(`the payment provider responded ${error.type}`, { cause: error });
  }
}
