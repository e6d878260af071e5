import { createHmac } from 'node:crypto';
import pg from 'pg';
import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { simulatedWebhookSecret } from '#providers/payments/simulated.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace, type TestAgency } from '#test/support/factories.ts';
import {
  charged,
  controlPayments,
  forgetIdempotencyKeys,
  LINE_REQUESTS,
  pay,
  postCallback,
  requestAddOn,
  requestStatus,
  sendInvoiceEvent,
  signed,
} from '#test/support/payments.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let agency: TestAgency;
let workspaceId: string;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  agency = await createAgency(app);
});

beforeEach(async () => {
  const workspace = await createWorkspace(app, { agency_id: agency.id });
  workspaceId = workspace.id;
  api = apiClient(app.url, workspace.key);
});

describe('callbacks of the payment provider', () => {
  it('are refused with a wrong signature', async () => {
    const { lineId, invoiceId } = await requestAddOn(api);
    const forged = await sendInvoiceEvent(
      app,
      { type: 'invoice.paid', workspaceId, lineId, invoiceId },
      'another secret',
    );
    expect(forged.status).toBe(401);
    const unsigned = await fetch(`${app.url}/callbacks/payments`, { method: 'POST', body: '{}' });
    expect(unsigned.status).toBe(401);
    expect(await requestStatus(api, lineId)).toBe('awaiting_payment');
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '"text"',
    '7',
    '{}',
    '{"id":"evt_1","type":"invoice.paid"}',
    '{"id":"evt_1","type":"invoice.paid","data":null}',
    '{"id":"evt_1","type":"invoice.paid","data":{}}',
    '{"id":"evt_1","type":"invoice.paid","data":{"object":null}}',
    '{"id":"evt_1","type":"invoice.paid","data":{"object":[]}}',
    '{"id":7,"type":"invoice.paid","data":{"object":{"object":"invoice"}}}',
    '{"id":"evt_\\u0000","type":"invoice.paid","data":{"object":{"object":"invoice"}}}',
    '{"id":"evt_1","type":"invoice.paid","data":{"object":{"object":"invoice"}}}',
    '{"id":"evt_1","type":"invoice.paid","data":{"object":{"object":"invoice","id":"in_1","status":{}}}}',
    '{"id":"evt_1","type":"customer.subscription.updated","data":{"object":{"object":"subscription"}}}',
    '{"object":"v2.core.event","id":"evt_1","type":"invoice.paid","data":{"object":{}}}',
    `{"id":"evt_1","type":"invoice.paid","data":{"object":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`,
  ])('get a 400 if they are signed but invalid: %s', async (payload) => {
    const response = await postCallback(app, payload, signed(payload, app.config.simulator?.secret ?? ''));
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'VALIDATION_ERROR', issues: [expect.anything()] }),
    ]);
  });

  it('get a 400 if they are signed but not UTF-8', async () => {
    const payload = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
    const secret = simulatedWebhookSecret(app.config.simulator?.secret ?? '');
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', secret).update(`${timestamp}.`).update(payload).digest('hex');
    const response = await postCallback(app, payload, `t=${timestamp},v1=${signature}`);
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'VALIDATION_ERROR' }),
    ]);
  });

  it.each([
    { line_request_id: 'nothing', round: '1' },
    { line_request_id: 'a\u0000b', round: '1' },
    { line_request_id: '0'.repeat(24), round: 'first' },
    { line_request_id: '0'.repeat(24), round: '9'.repeat(40) },
    {},
  ])('are accepted without effect if they concern no line: %j', async (metadata) => {
    const object = { object: 'invoice', id: 'in_1', status: 'paid', metadata };
    const payload = JSON.stringify({ id: 'evt_1', type: 'invoice.paid', data: { object } });
    const response = await postCallback(app, payload, signed(payload, app.config.simulator?.secret ?? ''));
    expect(response.status).toBe(200);
  });

  it.each([
    't=,v1=',
    `t=${Math.floor(Date.now() / 1000)},v1=`,
    `t=${Math.floor(Date.now() / 1000)},v1`,
    `t=${Math.floor(Date.now() / 1000)},v1=,v1=${'0'.repeat(64)}`,
    `v1=${'0'.repeat(64)}`,
    't=1',
    'garbage',
    ',',
    '=,=,=',
    't=1,v1=ü',
    ','.repeat(10_000),
  ])('get a 400 for a malformed Stripe-Signature: %s', async (signature) => {
    const response = await postCallback(app, '{}', signature);
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        issues: [{ path: 'Stripe-Signature', message: expect.any(String) }],
      }),
    ]);
  });

  it('take effect once, even if they are repeated simultaneously', async () => {
    const { lineId, invoiceId } = await requestAddOn(api);
    const fact = { id: 'evt_twice', type: 'invoice.paid', workspaceId, lineId, invoiceId } as const;
    const responses = await Promise.all([1, 2, 3].map(() => sendInvoiceEvent(app, fact)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    await eventually(async () => (await requestStatus(api, lineId)) === 'active');
    expect((await sendInvoiceEvent(app, fact)).status).toBe(200);
    expect(
      (await sendInvoiceEvent(app, { ...fact, id: 'evt_other', type: 'invoice.payment_failed' })).status,
    ).toBe(200);
    expect((await api('GET', `${LINE_REQUESTS}/${lineId}`)).body).toMatchObject({
      status: 'active',
      paymentStatus: 'paid',
    });
  });

  it('about a failed payment leave the request waiting for another payment', async () => {
    const { lineId, paymentUrl } = await requestAddOn(api);
    await controlPayments(app, 'settings', { workspaceId, cardDeclines: true });
    expect(await (await pay(paymentUrl)).text()).toContain('declined');
    expect((await api('GET', `${LINE_REQUESTS}/${lineId}`)).body).toMatchObject({
      status: 'awaiting_payment',
      paymentStatus: 'failed',
      paymentUrl,
    });
    await controlPayments(app, 'settings', { workspaceId, cardDeclines: false });
    await pay(paymentUrl);
    await eventually(async () => (await requestStatus(api, lineId)) === 'active');
  });

  it('about a payment after the cancellation lead to a credit note', async () => {
    await app.stopWorker();
    const { lineId, paymentUrl } = await requestAddOn(api);
    await api('POST', `${LINE_REQUESTS}/${lineId}`, { action: 'cancel' });
    // The customer pays before the invoice is voided.
    await pay(paymentUrl);
    await app.startWorker();
    await eventually(async () => (await charged(app, workspaceId)).creditNotes.length === 1);
    expect((await api('GET', `${LINE_REQUESTS}/${lineId}`)).body).toMatchObject({
      status: 'canceled',
      paymentStatus: 'canceled',
    });
    const { invoices, creditNotes } = await charged(app, workspaceId);
    expect(creditNotes).toMatchObject([{ invoice: invoices[0]?.id, amount: 1500 }]);
  });

  it('find their line, which cannot be deleted while it awaits its payment', async () => {
    // Without the credit of other tests, which would pay for the line at once.
    const own = await createAgency(app);
    const { key } = await createWorkspace(app, { agency_id: own.id });
    const client = apiClient(app.url, key);
    const { lineId } = await requestAddOn(client);
    const owner = await sessionClient(app, { userId: own.ownerId, organizationId: null });
    const remove = () => owner('POST', '/api/agency/lines', { action: 'delete', lineId });
    expect(await remove()).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    await client('POST', `${LINE_REQUESTS}/${lineId}`, { action: 'cancel' });
    await eventually(async () => (await remove()).status === 200);
  });

  it('may be lost, because reading a request asks the provider', async () => {
    const { lineId, paymentUrl, invoiceId } = await requestAddOn(api);
    await withoutCallbacks(async () => {
      await pay(paymentUrl);
      // The provider is asked every few seconds at most; this ends the wait.
      await app.pools.system.query(
        sql.unsafe`update line_invoices set checked_at = now() - interval '1 minute'`,
      );
      await eventually(async () => (await requestStatus(api, lineId)) === 'active');
    });
    expect((await charged(app, workspaceId)).invoices).toMatchObject([{ id: invoiceId, status: 'paid' }]);
  });

  it('are accepted without effect for an unknown line or round', async () => {
    const { lineId, invoiceId } = await requestAddOn(api);
    const fact = { type: 'invoice.paid', workspaceId, lineId, invoiceId } as const;
    expect((await sendInvoiceEvent(app, { ...fact, lineId: '6742f1c09b1e8a00d4c3b2a1' })).status).toBe(200);
    expect((await sendInvoiceEvent(app, { ...fact, round: 2 })).status).toBe(200);
    expect(await requestStatus(api, lineId)).toBe('awaiting_payment');
  });

  it.each(['invoice.paid', 'invoice.voided', 'invoice.payment_failed'] as const)(
    'about another invoice than that of the request change nothing: %s',
    async (type) => {
      const { lineId, paymentUrl } = await requestAddOn(api);
      const fact = { type, workspaceId, lineId, invoiceId: 'in_another' };
      expect((await sendInvoiceEvent(app, fact)).status).toBe(200);
      expect((await api('GET', `${LINE_REQUESTS}/${lineId}`)).body).toMatchObject({
        status: 'awaiting_payment',
        paymentStatus: 'pending',
        paymentUrl,
      });
      await pay(paymentUrl);
      await eventually(async () => (await requestStatus(api, lineId)) === 'active');
    },
  );

  it('about an invoice that the request does not know yet still pay for it', async () => {
    const { lineId, invoiceId } = await requestAddOn(api);
    // As after a crash between the provider's response and the commit.
    await app.pools.system.query(sql.unsafe`
      update line_invoices set status = 'opening', invoice_id = null, payment_url = null where line_id = ${lineId}`);
    await sendInvoiceEvent(app, { type: 'invoice.paid', workspaceId, lineId, invoiceId });
    await eventually(async () => (await requestStatus(api, lineId)) === 'active');
    expect((await charged(app, workspaceId)).invoices).toHaveLength(1);
  });

  it('are not needed to find the same invoice again after a crash, even a day later', async () => {
    const { lineId, paymentUrl } = await requestAddOn(api);
    await app.pools.system.query(sql.unsafe`
      with forgotten as (update lines set payment_link_url = null, payment_provider_invoice_id = null where id = ${lineId})
      update line_invoices set status = 'opening', invoice_id = null, payment_url = null where line_id = ${lineId}`);
    await forgetIdempotencyKeys(app);
    expect(
      (await api('POST', `${LINE_REQUESTS}/${lineId}`, { action: 'payment_link' })).body.paymentUrl,
    ).toBe(paymentUrl);
    expect((await charged(app, workspaceId)).invoices).toHaveLength(1);
  });
});

/** Runs `work` while the database refuses to record callbacks. */
async function withoutCallbacks(work: () => Promise<void>): Promise<void> {
  const owner = new pg.Client({ connectionString: app.ownerUrl });
  await owner.connect();
  try {
    await owner.query('alter table payment_events add constraint lost check (false) not valid');
    await work();
  } finally {
    await owner.query('alter table payment_events drop constraint lost');
    await owner.end();
  }
}
