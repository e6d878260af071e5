import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'slonik';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { type Mail, mailsTo } from '#test/support/mails.ts';
import { pay, sendInvoiceEvent, controlPayments } from '#test/support/payments.ts';
import { auditLogOf } from '#test/support/sessions.ts';
import { startEndpoint } from '#test/support/endpoint.ts';

let app: TestApp;
let agency: { id: string; key: string };
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
});

beforeEach(async () => {
  agency = await createAgency(app);
  workspace = await createWorkspace(app, { agency_id: agency.id });
  api = apiClient(app.url, workspace.key);
});

/** The emails to the owner of the workspace. */
const mails = (): Promise<Mail[]> => mailsTo(app, `${workspace.ownerId}@example.test`);
const mail = (subject: string): Promise<Mail> =>
  eventually(async () => (await mails()).find((one) => one.subject === `${subject} (Test)`));

describe('billing emails', () => {
  const subscribe = async (plan: string): Promise<string> => {
    const body = { workspaceId: workspace.id, plan };
    return (await apiClient(app.url, agency.key)('POST', '/api/agency/billing/subscribe', body)).body
      .subscriptionId;
  };

  it('report a failed payment with the payment link, and a paid invoice', async () => {
    const { body } = await api('POST', '/api/line-requests', {
      firstName: 'Ada',
      lastName: 'Lovelace',
      channelType: 'email',
    });
    await controlPayments(app, 'settings', { workspaceId: workspace.id, cardDeclines: true });
    await pay(body.paymentUrl);
    const failed = await mail('A payment failed');
    expect(failed.text).toContain('The payment for the line Ada Lovelace did not go through.');
    expect(failed.text).toContain(`Pay now: ${body.paymentUrl}`);
    await controlPayments(app, 'settings', { workspaceId: workspace.id, cardDeclines: false });
    await pay(body.paymentUrl);
    expect((await mail('Invoice paid')).text).toContain('Ada Lovelace');
  });

  it('report a change of plan and a subscription that is past due or canceled', async () => {
    await subscribe('starter');
    expect((await mail('Your plan has changed')).text).toContain(
      'has moved from the growth plan to the starter plan',
    );
    const subscriptionId = await subscribe('starter');
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'past_due' });
    expect((await mail('A payment failed')).text).toContain('The payment for your subscription');
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'canceled' });
    await mail('Your subscription is canceled');
    expect(await mails()).toHaveLength(3);
  });

  it('report nothing of a former subscription to a client with invoice billing', async () => {
    const subscriptionId = await subscribe('starter');
    await mail('Your plan has changed');
    await app.pools.system.query(sql.unsafe`
      update agencies set billing_mode = 'invoice' where id = ${agency.id}`);
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'past_due' });
    await controlPayments(app, `subscriptions/${subscriptionId}`, { status: 'canceled' });
    await subscribe('growth');
    const changed = 'Your plan has changed (Test)';
    const subjects = await eventually(async () => {
      const found = (await mails()).map(({ subject }) => subject);
      return found.filter((subject) => subject === changed).length === 2 && found;
    });
    expect(subjects).toEqual([changed, changed]);
  });

  it('are not sent when the agency has turned them off', async () => {
    await apiClient(app.url, agency.key)('POST', '/api/agency/email-preferences', { enabled: false });
    const { body } = await api('POST', '/api/line-requests', {
      firstName: 'Ada',
      lastName: 'Lovelace',
      channelType: 'email',
    });
    const invoiceId = body.paymentUrl.split('/').at(-1);
    const fact = { workspaceId: workspace.id, lineId: body.line._id, invoiceId };
    await sendInvoiceEvent(app, { ...fact, type: 'invoice.payment_failed' });
    await apiClient(app.url, agency.key)('POST', '/api/agency/email-preferences', { enabled: true });
    await sendInvoiceEvent(app, { ...fact, type: 'invoice.paid' });
    await mail('Invoice paid');
    expect(await mails()).toHaveLength(1);
  });
});

describe('error emails', () => {
  it('report a failing webhook once, and once more if it fails again after a recovery', async () => {
    const lineId = await createLine(app, workspace.id);
    let status = 500;
    const receiver = await startEndpoint((response) => void response.writeHead(status).end());
    try {
      const { body } = await api('POST', '/api/webhooks', {
        name: 'CRM',
        url: receiver.url,
        events: ['message.reply'],
      });
      const failures = async () =>
        (await api('GET', `/api/webhooks/${body.webhook._id}`)).body.webhook.failureCount;
      const deliver = async (count: number): Promise<void> => {
        const before = receiver.received.length;
        await callBack(app, lineId, ...Array.from({ length: count }, () => replyEvent(phone(), 'Hello')));
        await eventually(async () => receiver.received.length === before + count);
      };
      await deliver(9);
      await eventually(async () => (await failures()) === 9);
      expect(await mails()).toEqual([]);
      await deliver(3);
      const told = await mail('A webhook is failing: CRM');
      expect(told.text).toContain('None has ever succeeded.');
      await deliver(5);
      await eventually(async () => (await failures()) === 17);
      status = 200;
      await deliver(1);
      status = 500;
      await deliver(10);
      const twice = await eventually(async () => {
        const all = (await mails()).filter(({ subject }) => subject.startsWith('A webhook'));
        return all.length > 1 && all;
      });
      expect(twice).toHaveLength(2);
    } finally {
      await receiver.close();
    }
  });

  it('report a webhook whose endpoint is gone, which the audit log has, too', async () => {
    const lineId = await createLine(app, workspace.id);
    const receiver = await startEndpoint((response) => void response.writeHead(410).end());
    try {
      const { body } = await api('POST', '/api/webhooks', {
        name: 'CRM',
        url: receiver.url,
        events: ['message.reply'],
        retries: 'standard',
      });
      await callBack(app, lineId, replyEvent(phone(), 'Hello'));
      const told = await mail('A webhook was deactivated: CRM');
      expect(told.text).toContain('gone (410)');
      const path = `/api/webhooks/${body.webhook._id}`;
      expect((await api('GET', path)).body.webhook.isActive).toBe(false);
      const entries = await auditLogOf(app, workspace, { targetId: body.webhook._id });
      const bySystem = entries.filter(({ channel }) => channel === 'system');
      expect(bySystem.map(({ actor, action, changes }) => [actor.type, action, changes])).toEqual([
        ['system', 'webhook.updated', { isActive: false }],
      ]);
    } finally {
      await receiver.close();
    }
  });

  it('report a line that the carrier refuses', async () => {
    const { body } = await api('POST', '/api/line-requests', {
      firstName: 'Grace',
      lastName: 'Hopper',
      channelType: 'email',
      email: 'fail@lines.example',
    });
    await pay(body.paymentUrl);
    expect((await mail('A line could not be set up')).text).toContain('Grace Hopper');
  });
});
