import { randomUUID } from 'node:crypto';
import Stripe from 'stripe';
import { simulatedWebhookSecret } from '#providers/payments/simulated.ts';
import type { TestApp } from './app.ts';
import type { ApiClient } from './client.ts';

export const LINE_REQUESTS = '/api/line-requests';
export const EMAIL_LINE = { firstName: 'Ada', lastName: 'Lovelace', channelType: 'email' };

/** The objects of a workspace at the simulated payment provider. */
export interface Charged {
  invoices: {
    id: string;
    status: string;
    total: number;
    amount_due: number;
    amount_paid: number;
    metadata: Record<string, string>;
  }[];
  creditNotes: { invoice: string; amount: number }[];
  pendingItems: { description: string; amount: number; metadata: Record<string, string> }[];
  customers: { name: string | null; invoice_settings: { default_payment_method: string | null } }[];
  subscriptions: { id: string; status: string; metadata: Record<string, string> }[];
}

export async function charged(app: TestApp, workspaceId: string): Promise<Charged> {
  const response = await fetch(`${app.url}/simulated/payments/workspaces/${workspaceId}`);
  return (await response.json()) as Charged;
}

/** Requests a line that costs a fee. */
export async function requestAddOn(
  api: ApiClient,
): Promise<{ lineId: string; paymentUrl: string; invoiceId: string }> {
  const { body } = await api('POST', LINE_REQUESTS, EMAIL_LINE);
  return { lineId: body.line._id, paymentUrl: body.paymentUrl, invoiceId: body.paymentUrl.split('/').at(-1) };
}

export const requestStatus = async (api: ApiClient, lineId: string): Promise<string> =>
  (await api('GET', `${LINE_REQUESTS}/${lineId}`)).body.status;

/** Pays an invoice on its hosted page. */
export const pay = (paymentUrl: string): Promise<Response> => fetch(paymentUrl, { method: 'POST' });

export async function controlPayments(app: TestApp, path: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${app.url}/simulated/payments/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
}

/** As Stripe does after a day. */
export const forgetIdempotencyKeys = (app: TestApp): Promise<Response> =>
  controlPayments(app, 'forget-keys', {});

export interface InvoiceFact {
  id?: string;
  type: 'invoice.paid' | 'invoice.voided' | 'invoice.payment_failed';
  workspaceId: string;
  lineId: string;
  round?: number;
  invoiceId: string;
}

const STATUS = {
  'invoice.paid': 'paid',
  'invoice.voided': 'void',
  'invoice.payment_failed': 'open',
} as const;

/** Sends a callback signed by Stripe's library. */
export async function sendInvoiceEvent(
  app: Pick<TestApp, 'url' | 'config'>,
  fact: InvoiceFact,
  secret = app.config.simulator?.secret ?? '',
): Promise<Response> {
  const payload = JSON.stringify({
    id: fact.id ?? `evt_${randomUUID()}`,
    object: 'event',
    type: fact.type,
    created: Math.floor(Date.now() / 1000),
    data: {
      object: {
        id: fact.invoiceId,
        object: 'invoice',
        status: STATUS[fact.type],
        hosted_invoice_url: `${app.url}/simulated/pay/${fact.invoiceId}`,
        metadata: {
          workspace_id: fact.workspaceId,
          line_request_id: fact.lineId,
          round: String(fact.round ?? 1),
        },
      },
    },
  });
  return postCallback(app, payload, signed(payload, secret));
}

/** The `Stripe-Signature` of a body. @param secret the simulator's, or another for a wrong signature. */
export const signed = (payload: string, secret: string): string =>
  Stripe.webhooks.generateTestHeaderString({ payload, secret: simulatedWebhookSecret(secret) });

export const postCallback = (
  app: Pick<TestApp, 'url'>,
  payload: string | Buffer,
  signature: string,
): Promise<Response> =>
  fetch(`${app.url}/callbacks/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'stripe-signature': signature },
    body: payload,
  });
