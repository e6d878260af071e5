import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';
import { charged, pay } from '#test/support/payments.ts';
import { sessionClient } from '#test/support/sessions.ts';

const PATH = '/api/line-requests';
const NAME = { firstName: 'Ada', lastName: 'Lovelace' };

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const until = (api: ApiClient, id: string, status: string) =>
  eventually(async () => {
    const { body } = await api('GET', `${PATH}/${id}`);
    return body.status === status && body;
  });

describe('an included line', () => {
  it('is provisioned at once and becomes active with a warm-up', async () => {
    const { api } = await createWorkspace(app);
    const created = await api('POST', PATH, { ...NAME, areaCode: '212' });
    expect(created).toMatchObject({
      status: 201,
      body: {
        success: true,
        status: 'provisioning',
        paymentStatus: 'not_required',
        paymentRequired: false,
        line: { ...NAME, channelType: 'imessage', lineType: 'purchased', provisioningStatus: 'provisioning' },
      },
    });
    expect(created.body).not.toHaveProperty('paymentUrl');
    const id: string = created.body.line._id;
    const active = await until(api, id, 'active');
    expect(active).toMatchObject({
      success: true,
      paymentStatus: 'not_required',
      paymentRequired: false,
      line: { _id: id },
    });

    const { lines } = (await api('GET', '/api/lines/by-user')).body;
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      _id: id,
      isActive: true,
      provisioningStatus: 'active',
      requestSource: 'api',
      requestedChannelType: 'imessage',
      requestedLineType: 'purchased',
      capabilities: expect.arrayContaining(['reactions', 'attachments']),
      dailyTotalMessagesLimit: 150,
      dailyNewConversationsLimit: 50,
      usage: { newMessagesLimit: 20 },
      healthCheck: { status: 'healthy' },
    });
    expect(lines[0].phone).toMatch(/^\+1212[2-9]\d{6}$/);

    const sent = await api('POST', '/api/messages', { message: 'hello', recipientPhone: '+14155550123' });
    expect(sent.body).toMatchObject({ fromLineId: id });
    await eventually(
      async () => (await api('GET', `/api/messages/${sent.body._id}`)).body.status === 'delivered',
    );
  });

  it('tells whether a program, a member or the agency requested it', async () => {
    const agency = await createAgency(app);
    const { id, api, ownerId } = await createWorkspace(app, { agency_id: agency.id });
    const member = await sessionClient(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
    const agent = await sessionClient(app, { userId: agency.ownerId });
    const requests = [api('POST', PATH, NAME), member('POST', PATH, NAME)];
    for (const { status } of await Promise.all(requests)) expect(status).toBe(201);
    expect((await agent('POST', PATH, NAME, { 'x-workspace-id': id })).status).toBe(201);
    const { lines } = (await api('GET', '/api/lines/by-user')).body;
    const sources = lines.map(({ requestSource }: { requestSource: string }) => requestSource);
    expect(sources.toSorted()).toEqual(['agency', 'api', 'dashboard']);
  });

  it('is created once per Idempotency-Key', async () => {
    const { api } = await createWorkspace(app);
    const key = { 'idempotency-key': 'the-line' };
    const [first, second] = await Promise.all([api('POST', PATH, NAME, key), api('POST', PATH, NAME, key)]);
    expect(second.body).toEqual(first.body);
    expect((await api('POST', PATH, { ...NAME, firstName: 'Eve' }, key)).body.code).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    expect((await api('GET', '/api/lines/by-user')).body.lines).toHaveLength(1);
  });

  it('is granted once when two requests compete for the last one', async () => {
    const { api } = await createWorkspace(app, { plan: 'starter' });
    const responses = await Promise.all([
      api('POST', PATH, NAME),
      api('POST', PATH, { ...NAME, channelType: 'sms' }),
    ]);
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 403]);
  });

  it('is retried after transient errors of the carrier', async () => {
    const { api } = await createWorkspace(app);
    const { body } = await api('POST', PATH, { ...NAME, areaCode: '0003' });
    expect(await until(api, body.line._id, 'active')).toMatchObject({ success: true });
  });

  it('fails if the carrier refuses it, does not count against the plan, and can be retried', async () => {
    const { api } = await createWorkspace(app, { plan: 'starter' });
    const { body } = await api('POST', PATH, { ...NAME, areaCode: '0002' });
    const id: string = body.line._id;
    expect(await until(api, id, 'failed')).toMatchObject({ paymentStatus: 'not_required' });
    expect(await api('POST', `${PATH}/${id}`, { action: 'cancel' })).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE' },
    });

    const retried = await api('POST', `${PATH}/${id}`, { action: 'retry' });
    expect(retried).toMatchObject({ status: 200, body: { status: 'provisioning' } });
    await until(api, id, 'failed');
    // The failed request uses no line, so the included one is still available, and then taken.
    const next = await api('POST', PATH, NAME);
    expect(next.body).toMatchObject({ status: 'provisioning', paymentStatus: 'not_required' });
    expect((await api('POST', `${PATH}/${id}`, { action: 'retry' })).body.code).toBe('FORBIDDEN_LINE_TYPE');
  });
});

describe('an add-on in card billing', () => {
  it('tells of requests at once all but the first where the first is paid', async () => {
    const { api } = await createWorkspace(app);
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => api('POST', PATH, { ...NAME, channelType: 'email' })),
    );
    const created = responses.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    const { paymentUrl, line } = created[0]?.body ?? {};
    expect(paymentUrl).toMatch(/^http/);
    for (const blocked of responses.filter(({ status }) => status !== 201))
      expect(blocked).toMatchObject({
        status: 409,
        body: { code: 'PAYMENT_PENDING', lineId: line._id, paymentUrl },
      });
  });

  it('waits for its payment, blocks other requests meanwhile and continues once it is paid', async () => {
    const { api, id: workspaceId } = await createWorkspace(app);
    const created = await api('POST', PATH, { ...NAME, channelType: 'email' });
    expect(created).toMatchObject({
      status: 201,
      body: { status: 'awaiting_payment', paymentStatus: 'pending', paymentRequired: true },
    });
    const { paymentUrl, line } = created.body;
    const blocked = await api('POST', PATH, NAME);
    expect(blocked).toMatchObject({
      status: 409,
      body: { code: 'PAYMENT_PENDING', lineId: line._id, paymentUrl },
    });
    const link = await api('POST', `${PATH}/${line._id}`, { action: 'payment_link' });
    expect(link).toMatchObject({ status: 200, body: { status: 'awaiting_payment', paymentUrl } });
    expect((await api('GET', '/api/lines/by-user')).body.lines[0]).toMatchObject({
      paymentLinkUrl: paymentUrl,
      isActive: false,
    });

    const page = await (await fetch(paymentUrl)).text();
    expect(page.match(/<button/g)).toHaveLength(1);
    expect((await pay(paymentUrl)).status).toBe(200);
    expect(await until(api, line._id, 'active')).toMatchObject({
      paymentStatus: 'paid',
      paymentRequired: false,
    });
    await pay(paymentUrl);

    expect((await api('POST', PATH, NAME)).status).toBe(201);
    const { invoices, creditNotes } = await charged(app, workspaceId);
    expect(invoices).toMatchObject([{ status: 'paid', total: 1500, amount_paid: 1500 }]);
    expect(creditNotes).toEqual([]);
    expect((await api('POST', `${PATH}/${line._id}`, { action: 'payment_link' })).body.code).toBe(
      'INVALID_STATE',
    );
  });

  it('returns the same response with the payment link for a repeated Idempotency-Key', async () => {
    const { api, id } = await createWorkspace(app);
    const order = { ...NAME, channelType: 'email' };
    const key = { 'idempotency-key': 'the-add-on' };
    const [first, second] = await Promise.all([api('POST', PATH, order, key), api('POST', PATH, order, key)]);
    expect(first.body.paymentUrl).toMatch(/\/simulated\/pay\//);
    expect(second.body).toEqual(first.body);
    await pay(first.body.paymentUrl);
    await until(api, first.body.line._id, 'active');
    expect((await api('POST', PATH, order, key)).body).toEqual(first.body);
    expect((await charged(app, id)).invoices).toHaveLength(1);
  });

  it('can be canceled, which voids the invoice and allows other requests', async () => {
    const { api, id: workspaceId } = await createWorkspace(app);
    const { body } = await api('POST', PATH, { ...NAME, channelType: 'email' });
    const canceled = await api('POST', `${PATH}/${body.line._id}`, { action: 'cancel' });
    expect(canceled).toMatchObject({
      status: 200,
      body: { status: 'canceled', paymentStatus: 'canceled', paymentRequired: false },
    });
    expect((await api('POST', PATH, NAME)).status).toBe(201);
    for (const action of ['cancel', 'payment_link', 'retry']) {
      expect((await api('POST', `${PATH}/${body.line._id}`, { action })).body.code).toBe('INVALID_STATE');
    }
    await eventually(async () =>
      (await charged(app, workspaceId)).invoices.every(({ status }) => status === 'void'),
    );
    await pay(body.paymentUrl);
    expect((await api('GET', `${PATH}/${body.line._id}`)).body).toMatchObject({
      status: 'canceled',
      paymentStatus: 'canceled',
    });
  });

  it('is credited if the carrier refuses it, and the credit pays for the retry', async () => {
    const { api, id: workspaceId } = await createWorkspace(app);
    const { body } = await api('POST', PATH, { ...NAME, channelType: 'email', email: 'fail@lines.example' });
    await pay(body.paymentUrl);
    expect(await until(api, body.line._id, 'failed')).toMatchObject({ paymentStatus: 'canceled' });
    await eventually(async () => (await charged(app, workspaceId)).creditNotes.length === 1);

    const retried = await api('POST', `${PATH}/${body.line._id}`, { action: 'retry' });
    expect(retried).toMatchObject({ status: 200, body: { status: 'provisioning', paymentStatus: 'paid' } });
    await until(api, body.line._id, 'failed');
    const { invoices } = await eventually(async () => {
      const now = await charged(app, workspaceId);
      return now.creditNotes.length === 2 && now;
    });
    expect(invoices.map(({ total, amount_paid: paid }) => [total, paid])).toEqual([
      [1500, 1500],
      [1500, 0],
    ]);
  });

  it('continues without a payment once the plan includes it', async () => {
    const { api, id: workspaceId } = await createWorkspace(app, { plan: 'growth' });
    const { body } = await api('POST', PATH, { ...NAME, channelType: 'email' });
    const setDown = (down: boolean) => api('POST', `/simulated/carrier/lines/${body.line._id}`, { down });
    await setDown(true);
    await app.pools.system.query(
      sql.unsafe`update workspaces set line_overrides = '{"email": {"included": 1}}' where id = ${workspaceId}`,
    );
    const reconciled = await api('GET', `${PATH}/${body.line._id}`);
    expect(reconciled.body).toMatchObject({
      status: 'provisioning',
      paymentStatus: 'not_required',
      paymentRequired: false,
    });
    // A request for the payment link now reports that no payment is required.
    const link = await api('POST', `${PATH}/${body.line._id}`, { action: 'payment_link' });
    expect(link).toMatchObject({ status: 200, body: { status: 'provisioning', paymentRequired: false } });
    expect(link.body).not.toHaveProperty('paymentUrl');
    await setDown(false);
    await until(api, body.line._id, 'active');
    await eventually(async () =>
      (await charged(app, workspaceId)).invoices.every(({ status }) => status === 'void'),
    );
  });

  it('becomes active only once the line is healthy', async () => {
    const { api } = await createWorkspace(app);
    const { body } = await api('POST', PATH, { ...NAME, channelType: 'email' });
    const setDown = (down: boolean) => api('POST', `/simulated/carrier/lines/${body.line._id}`, { down });
    await setDown(true);
    await pay(body.paymentUrl);
    await eventually(async () => (await api('GET', '/api/lines/by-user')).body.lines[0].email);
    expect((await api('GET', `${PATH}/${body.line._id}`)).body.status).toBe('provisioning');
    await setDown(false);
    await until(api, body.line._id, 'active');
  });
});

describe('an add-on in invoice billing', () => {
  it('is granted at once and added to the agency invoice once', async () => {
    const agency = await createAgency(app, { billing_mode: 'invoice' });
    const { api, id: workspaceId } = await createWorkspace(app, { agency_id: agency.id });
    const created = await api('POST', PATH, { ...NAME, channelType: 'email' });
    expect(created).toMatchObject({
      status: 201,
      body: { status: 'provisioning', paymentStatus: 'invoiced', paymentRequired: false },
    });
    await until(api, created.body.line._id, 'active');
    const { invoices, pendingItems } = await charged(app, workspaceId);
    expect(invoices).toEqual([]);
    expect(pendingItems).toMatchObject([
      { amount: 1500, metadata: { line_request_id: created.body.line._id } },
    ]);
  });

  it('is not invoiced if it fails', async () => {
    const agency = await createAgency(app, { billing_mode: 'invoice' });
    const { api, id: workspaceId } = await createWorkspace(app, { agency_id: agency.id });
    const { body } = await api('POST', PATH, { ...NAME, channelType: 'email', email: 'fail@lines.example' });
    expect(await until(api, body.line._id, 'failed')).toMatchObject({ paymentStatus: 'canceled' });
    expect((await charged(app, workspaceId)).pendingItems).toEqual([]);
  });
});

describe('a line request is refused', () => {
  it.each(['none', 'canceled'])('without an active subscription (%s)', async (status) => {
    const { api } = await createWorkspace(app, { subscription_status: status });
    expect(await api('POST', PATH, NAME)).toMatchObject({
      status: 402,
      body: { error: 'subscription_required', code: 'SUBSCRIPTION_REQUIRED' },
    });
    expect((await api('GET', '/api/lines/by-user')).body.lines).toEqual([]);
  });

  it('while past due, as are retries, but not cancellations and reads', async () => {
    const { api, id } = await createWorkspace(app);
    const { body } = await api('POST', PATH, { ...NAME, channelType: 'email' });
    await app.pools.system.query(
      sql.unsafe`update workspaces set subscription_status = 'past_due' where id = ${id}`,
    );
    expect(await api('POST', PATH, NAME)).toMatchObject({
      status: 402,
      body: { code: 'READ_ONLY', reason: 'past_due' },
    });
    const path = `${PATH}/${body.line._id}`;
    expect((await api('POST', path, { action: 'retry' })).body).toMatchObject({
      code: 'READ_ONLY',
      reason: 'past_due',
    });
    expect((await api('GET', path)).status).toBe(200);
    expect((await api('POST', path, { action: 'payment_link' })).body.paymentUrl).toBe(body.paymentUrl);
    expect((await api('POST', path, { action: 'cancel' })).body.status).toBe('canceled');
  });

  it('for a line that the plan does not allow', async () => {
    const { api } = await createWorkspace(app, { plan: 'mini' });
    expect(await api('POST', PATH, NAME)).toMatchObject({
      status: 403,
      body: { error: 'forbidden_line_type', code: 'FORBIDDEN_LINE_TYPE' },
    });
  });

  it.each([
    ['no name', {}],
    ['an unknown channel', { ...NAME, channelType: 'fax' }],
    ['an unknown kind of line', { ...NAME, lineType: 'rented' }],
    ['an invalid address', { ...NAME, email: 'ada' }],
    ['a text as area code', { ...NAME, areaCode: 'west' }],
  ])('with %s', async (_, body) => {
    const { api } = await createWorkspace(app);
    expect(await api('POST', PATH, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } });
  });

  it('in a country that does not exist', async () => {
    const { api } = await createWorkspace(app);
    for (const country of ['XX', 'us', 'USA'])
      expect(await api('POST', PATH, { ...NAME, country })).toMatchObject({
        status: 400,
        body: { issues: [{ path: 'country' }] },
      });
  });

  it('with an id that is malformed, unknown or of another workspace', async () => {
    const { api } = await createWorkspace(app);
    const other = await createWorkspace(app);
    const { body } = await other.api('POST', PATH, NAME);
    for (const send of [
      (id: string) => api('GET', `${PATH}/${id}`),
      (id: string) => api('POST', `${PATH}/${id}`, { action: 'cancel' }),
    ]) {
      expect(await send('nonsense')).toMatchObject({
        status: 400,
        body: { error: 'Invalid line request id' },
      });
      for (const id of ['6742f1c09b1e8a00d4c3b2a1', body.line._id]) {
        expect(await send(id)).toMatchObject({ status: 404, body: { error: 'Line request not found' } });
      }
    }
    expect((await api('POST', `${PATH}/${body.line._id}`, { action: 'pay' })).body.code).toBe(
      'VALIDATION_ERROR',
    );
    expect(await apiClient(app.url, '')('GET', `${PATH}/${body.line._id}`)).toMatchObject({
      status: 401,
      body: { error: 'Unauthorized' },
    });
  });
});
