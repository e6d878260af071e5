import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { simulatedStripe } from '#providers/payments/simulated.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { eventually, sharedApp, startTestApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, type TestAgency } from '#test/support/factories.ts';
import {
  charged,
  controlPayments,
  EMAIL_LINE,
  LINE_REQUESTS,
  pay,
  requestAddOn,
  requestStatus,
} from '#test/support/payments.ts';
import { startLossyFront } from '#test/support/lossy-front.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';

let app: TestApp;
let agency: TestAgency;
let agencyApi: ApiClient;
let workspaceId: string;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  agency = await createAgency(app);
  agencyApi = apiClient(app.url, agency.key);
});

beforeEach(async () => {
  const workspace = await createWorkspace(app, { agency_id: agency.id });
  workspaceId = workspace.id;
  api = apiClient(app.url, workspace.key);
});

describe('the card of an agency', () => {
  it("is saved on the provider's page and charged from then on", async () => {
    const agency = await createAgency(app);
    const token = await signIn(app, { userId: agency.ownerId, organizationId: null });
    const owner = apiClient(app.url, token);
    const returnUrl = 'https://agency.example/settings';
    const { status, body } = await owner('POST', '/api/agency/billing/card', { returnUrl });
    expect(status).toBe(200);
    expect(await (await fetch(body.url)).text()).toContain('Save a card');
    expect(await (await pay(body.url)).text()).toContain(`href="${returnUrl}"`);

    const client = await createWorkspace(app, { agency_id: agency.id });
    const subscribed = await apiClient(app.url, agency.key)('POST', '/api/agency/billing/subscribe', {
      workspaceId: client.id,
      plan: 'growth',
    });
    expect(subscribed.status).toBe(200);
    const { customers } = await charged(app, client.id);
    expect(customers).toMatchObject([
      {
        name: expect.any(String),
        invoice_settings: { default_payment_method: expect.stringMatching(/^pm_/) },
      },
    ]);
  });

  it('requires a valid return URL', async () => {
    const agency = await createAgency(app);
    const owner = await sessionClient(app, { userId: agency.ownerId, organizationId: null });
    for (const returnUrl of [undefined, 'javascript:alert(1)', 'settings'])
      expect(await owner('POST', '/api/agency/billing/card', { returnUrl })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR' },
      });
  });
});

describe('prices', () => {
  it('of plans are told to the agency, and those of another line to the workspace', async () => {
    const plan = (amount: number) => ({ amount, currency: 'usd', interval: 'month', intervalCount: 1 });
    const ownerOf = ({ ownerId: userId }: TestAgency) => sessionClient(app, { userId, organizationId: null });
    expect(await (await ownerOf(agency))('GET', '/api/agency/billing/prices')).toMatchObject({
      status: 200,
      body: { success: true, plans: { mini: plan(4900), starter: plan(9900), growth: plan(29_900) } },
    });
    const prices = async () => (await api('GET', '/api/line-requests/prices')).body;
    const once = (amount: number) => ({ amount, currency: 'usd', interval: null, intervalCount: 1 });
    await agencyApi('POST', '/api/agency/billing/subscribe', { workspaceId, plan: 'starter' });
    const email = { grant: 'payment', price: once(1500) };
    expect(await prices()).toEqual({ success: true, phone: { grant: 'included', price: null }, email });
    await createLine(app, workspaceId, 'imessage');
    expect(await prices()).toEqual({ success: true, phone: { grant: null, price: null }, email });
    const free = await createAgency(app, { billing_mode: 'none' });
    expect(await (await ownerOf(free))('GET', '/api/agency/billing/prices')).toMatchObject({
      status: 409,
      body: { code: 'BILLING_DISABLED' },
    });
  });
});

describe('subscriptions', () => {
  const subscribe = (plan: string) =>
    agencyApi('POST', '/api/agency/billing/subscribe', { workspaceId, plan });
  const write = () => api('POST', '/api/lists', { name: 'A list' });
  const account = async () => {
    const { body } = await agencyApi('GET', '/api/agency/subaccounts');
    return body.subAccounts.find(({ idpOrgId }: { idpOrgId: string }) => idpOrgId === workspaceId);
  };

  it('are created once by charging the saved card', async () => {
    const first = await subscribe('starter');
    expect(first).toMatchObject({
      status: 200,
      body: { success: true, workspaceId, plan: 'starter', billingMode: 'card' },
    });
    expect(first.body.subscriptionId).toMatch(/^sub_/);
    expect((await subscribe('starter')).body).toEqual(first.body);
    const changed = await subscribe('growth');
    expect(changed.body).toEqual({ ...first.body, plan: 'growth' });
    expect((await charged(app, workspaceId)).subscriptions).toMatchObject([
      { status: 'active', metadata: { plan: 'growth' } },
    ]);
    expect(await account()).toMatchObject({ plan: 'growth', subscriptionStatus: 'active' });
  });

  it('are neither created nor changed if the card is declined', async () => {
    await controlPayments(app, 'settings', { workspaceId, cardDeclines: true });
    const before = await account();
    expect(await subscribe('starter')).toMatchObject({ status: 402, body: { code: 'CARD_DECLINED' } });
    expect(await account()).toEqual(before);
    expect((await charged(app, workspaceId)).subscriptions).toEqual([]);
    await controlPayments(app, 'settings', { workspaceId, cardDeclines: false });
    expect((await subscribe('starter')).status).toBe(200);
    await controlPayments(app, 'settings', { workspaceId, cardDeclines: true });
    expect((await subscribe('growth')).status).toBe(402);
    expect(await account()).toMatchObject({ plan: 'starter', subscriptionStatus: 'active' });
  });

  it('make the workspace read-only while they are past due', async () => {
    const { subscriptionId } = (await subscribe('growth')).body;
    expect((await write()).status).toBe(201);
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'past_due' });
    expect(await write()).toMatchObject({
      status: 402,
      body: { error: 'READ_ONLY', code: 'READ_ONLY', reason: 'past_due' },
    });
    expect((await api('GET', '/api/lists')).status).toBe(200);
    const check = { address: '+14155550123' };
    expect((await api('POST', '/api/check-availability-rr', check)).status).toBe(200);
    const lookup = '/api/leads/check-availability';
    expect((await api('POST', lookup, check)).status).toBe(200);
    expect((await api('POST', lookup, { leadIds: [newId()] })).body.code).toBe('READ_ONLY');
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'active' });
    expect((await api('POST', '/api/lists', { name: 'Another' })).status).toBe(201);
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'canceled' });
    expect((await api('POST', LINE_REQUESTS, EMAIL_LINE)).body.code).toBe('SUBSCRIPTION_REQUIRED');
    for (const path of ['/api/messages', '/api/drip'])
      expect(await api('POST', path, { message: 'Hi', recipientPhone: phone() })).toMatchObject({
        status: 402,
        body: { code: 'SUBSCRIPTION_REQUIRED' },
      });
    const anew = await subscribe('growth');
    expect(anew.body.subscriptionId).not.toBe(subscriptionId);
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'past_due' });
    expect(await account()).toMatchObject({ subscriptionStatus: 'active' });
  });

  it('are no longer past due once what they owe is charged to the card by subscribing again', async () => {
    const { subscriptionId } = (await subscribe('growth')).body;
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'past_due' });
    expect((await write()).status).toBe(402);
    await controlPayments(app, 'settings', { workspaceId, cardDeclines: true });
    expect(await subscribe('growth')).toMatchObject({ status: 402, body: { code: 'CARD_DECLINED' } });
    expect((await write()).status).toBe(402);
    await controlPayments(app, 'settings', { workspaceId, cardDeclines: false });
    expect(await subscribe('growth')).toMatchObject({ status: 200, body: { subscriptionId } });
    expect((await write()).status).toBe(201);
    const desk = await sessionClient(app, { userId: agency.ownerId, organizationId: null });
    const { entries } = (await desk('GET', `/api/audit-log?channel=system&workspaceId=${workspaceId}`)).body;
    expect(entries).toContainEqual(
      expect.objectContaining({
        actor: expect.objectContaining({ type: 'system' }),
        action: 'subscription.changed',
        changes: expect.objectContaining({ status: 'past_due' }),
      }),
    );
  });

  it('hold messages while they are canceled, and release them with the next one', async () => {
    const lineId = await createLine(app, workspaceId);
    const { subscriptionId } = (await subscribe('growth')).body;
    const to = phone();
    const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
    const message = { message: 'Hi', fromLineId: lineId, recipientPhone: to, scheduledDate };
    const { _id: id } = (await api('POST', '/api/messages', message)).body;
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'canceled' });
    await app.pools.system.query(sql.unsafe`
      update messages set scheduled_at = now() where workspace_id = ${workspaceId}`);
    await signalWorkflow(app.temporal, linePacerId(lineId), workspaceId, 'messagesDue');
    await eventually(async () => {
      const { holdReason } = (await api('GET', `/api/messages/${id}`)).body;
      return holdReason === 'subscription_past_due';
    });
    expect(await sentTo(app, to)).toEqual([]);
    expect((await subscribe('growth')).status).toBe(200);
    await eventually(async () => (await sentTo(app, to)).length === 1);
  });

  it('hold nothing where nobody pays', async () => {
    const free = await createWorkspace(app, { billing_mode: 'none', subscription_status: 'canceled' });
    const fromLineId = await createLine(app, free.id);
    const to = phone();
    const message = { message: 'Hi', fromLineId, recipientPhone: to };
    expect((await free.api('POST', '/api/messages', message)).status).toBe(201);
    await eventually(async () => (await sentTo(app, to)).length === 1);
  });

  it('hold all messages in place while they are past due, and release them once they are paid', async () => {
    const lineId = await createLine(app, workspaceId);
    await api('PATCH', '/api/workspace/fallback-config', {
      enabled: true,
      provider: 'simulated',
      fromNumber: '+14155550100',
    });
    const { subscriptionId } = (await subscribe('growth')).body;
    const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
    const send = async (fields: object) => {
      const message = { message: 'Hi', fromLineId: lineId, scheduledDate, ...fields };
      const { status, body } = await api('POST', '/api/messages', message);
      expect(status).toBe(201);
      return { id: body._id as string, to: body.recipientPhone as string };
    };
    const waiting = [
      await send({ recipientPhone: phone() }),
      await send({ recipientPhone: phone(), forceFallback: true }),
      await send({ recipientPhone: phone('0001'), smsFallbackEnabled: true }),
    ];
    const { campaign } = (
      await api('POST', '/api/campaigns', {
        name: 'Steps',
        eligibleLineIds: [lineId],
        steps: [{ message: 'Hi' }],
      })
    ).body;
    const of = phone();
    await api('POST', `/api/campaigns/${campaign._id}/leads`, { lead: { phone: of } });
    const tomorrow = await send({ recipientPhone: phone() });
    // A fallback SMS that is due because the primary channel failed.
    const owedSms = await send({ recipientPhone: phone(), smsFallbackEnabled: true });
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'past_due' });
    await app.pools.system.query(sql.unsafe`
      update messages set scheduled_at = now() where workspace_id = ${workspaceId}`);
    await app.pools.system.query(sql.unsafe`
      update messages set status = 'fallback', fallback_sms = 'due', fallback_at = now() where id = ${owedSms.id}`);
    await app.pools.system.query(sql.unsafe`
      update campaigns set status = 'active' where id = ${campaign._id}`);
    await app.pools.system.query(sql.unsafe`
      update messages set scheduled_at = ${scheduledDate} where id = ${tomorrow.id}`);
    await signalWorkflow(app.temporal, linePacerId(lineId), workspaceId, 'messagesDue');

    const entered = (await api('GET', `/api/messages?campaignId=${campaign._id}`)).body.messages[0]._id;
    const held = [...waiting, { id: entered, to: of }];
    const before = await eventually(async () => {
      const found = await Promise.all(
        held.map(async ({ id }) => (await api('GET', `/api/messages/${id}`)).body),
      );
      return found.every(({ holdReason }) => holdReason === 'subscription_past_due') && found;
    });
    for (const { to } of [...held, owedSms]) expect(await sentTo(app, to)).toEqual([]);
    const { body: later } = await api('GET', `/api/messages/${tomorrow.id}`);
    expect(later).toMatchObject({
      status: 'scheduled',
      holdReason: 'subscription_past_due',
      scheduledDate,
    });

    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'active' });
    await eventually(async () =>
      (await Promise.all([...held, owedSms].map(async ({ to }) => (await sentTo(app, to)).length))).every(
        (count) => count === 1,
      ),
    );
    for (const { _id, scheduledDate: planned } of before)
      expect((await api('GET', `/api/messages/${_id}`)).body).toMatchObject({ scheduledDate: planned });
  });

  it('of a larger plan release a line request that waits for its payment', async () => {
    await subscribe('starter');
    const { lineId } = await requestAddOn(api);
    await app.pools.system.query(
      sql.unsafe`update workspaces set line_overrides = '{"email": {"included": 1}}' where id = ${workspaceId}`,
    );
    expect((await subscribe('growth')).status).toBe(200);
    await eventually(async () => (await requestStatus(api, lineId)) === 'active');
  });

  it('are not created in invoice billing', async () => {
    const invoiced = await createAgency(app, { billing_mode: 'invoice' });
    const client = await createWorkspace(app, {
      agency_id: invoiced.id,
      plan: null,
      subscription_status: 'none',
    });
    const response = await apiClient(app.url, invoiced.key)('POST', '/api/agency/billing/subscribe', {
      workspaceId: client.id,
      plan: 'mini',
    });
    expect(response).toMatchObject({
      status: 200,
      body: { subscriptionId: null, billingMode: 'invoice', plan: 'mini' },
    });
    expect((await charged(app, client.id)).subscriptions).toEqual([]);
    const line = await apiClient(app.url, client.key)('POST', LINE_REQUESTS, EMAIL_LINE);
    expect(line.body).toMatchObject({ status: 'provisioning', paymentStatus: 'not_required' });
  });

  it('cannot be changed by another agency', async () => {
    const other = await createAgency(app);
    const response = await apiClient(app.url, other.key)('POST', '/api/agency/billing/subscribe', {
      workspaceId,
      plan: 'mini',
    });
    expect(response).toMatchObject({ status: 404, body: { code: 'WORKSPACE_NOT_FOUND' } });
    expect(
      (await agencyApi('POST', '/api/agency/billing/subscribe', { workspaceId, plan: 'maxi' })).status,
    ).toBe(400);
  });
});

describe('a subscription whose creation is not answered', () => {
  /** Another installation, whose requests to the same provider pass through a proxy. */
  async function subscriber(loses: (isCreation: boolean) => boolean | Promise<boolean>) {
    const { simulator } = app.config;
    if (!simulator) throw new Error('the app has no simulator');
    const { apiKey, webhookSecret, prices } = simulatedStripe(simulator);
    const front = await startLossyFront(simulator.url, (_, { method, url }) =>
      loses(method === 'POST' && url === '/v1/subscriptions'),
    );
    const own = await startTestApp({
      worker: false,
      environment: {
        STRIPE_SECRET_KEY: apiKey,
        STRIPE_WEBHOOK_SECRET: webhookSecret,
        STRIPE_API_URL: front.url,
        STRIPE_PRICES: JSON.stringify(prices),
      },
    });
    onTestFinished(() => own.stop());
    const agency = await createAgency(own);
    const { id } = await createWorkspace(own, {
      agency_id: agency.id,
      plan: null,
      subscription_status: 'none',
    });
    const call = apiClient(own.url, agency.key);
    return {
      subscribe: (plan: string) => call('POST', '/api/agency/billing/subscribe', { workspaceId: id, plan }),
      subscriptions: async () => (await charged(app, id)).subscriptions,
      /** As if the change of plan took longer than it locks the plan. */
      unlock: () =>
        own.pools.system.query(
          sql.unsafe`update workspaces set subscription_busy_until = '-infinity' where id = ${id}`,
        ),
    };
  }

  it('is found by the next attempt, whatever its plan is', async () => {
    let isDown = true;
    const { subscribe, subscriptions } = await subscriber((isCreation) => isDown && isCreation);
    expect(await subscribe('mini')).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    const [created] = await subscriptions();
    isDown = false;
    expect(await subscribe('growth')).toMatchObject({
      status: 200,
      body: { plan: 'growth', subscriptionId: created?.id },
    });
    expect(await subscriptions()).toMatchObject([{ id: created?.id, metadata: { plan: 'growth' } }]);
  });

  it('is the only one, even if it is on its way longer than it locks the plan', async () => {
    const [sent, held] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
    let isFirst = true;
    const { subscribe, subscriptions, unlock } = await subscriber((isCreation) => {
      if (!isCreation || !isFirst) return false;
      isFirst = false;
      sent.resolve();
      return held.promise;
    });
    const slow = subscribe('mini');
    await sent.promise;
    expect(await subscriptions()).toEqual([]);
    await unlock();
    const fast = await subscribe('growth');
    held.resolve(false);
    expect([fast.status, (await slow).status]).toEqual([200, 503]);
    expect(await subscriptions()).toMatchObject([
      { id: fast.body.subscriptionId, metadata: { plan: 'growth' } },
    ]);
  });
});
