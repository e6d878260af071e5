import { beforeAll, describe, expect, it, test } from 'vitest';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { createAgency, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { call, tenantRoutes } from './requests.ts';

/** Where nobody pays, no answer asks for a plan or a payment, whatever a subscription of earlier days says. */

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

const SUBSCRIPTIONS = ['none', 'active', 'past_due', 'canceled'] as const;
/** Bodies that pass validation, so that only billing could refuse the request. */
const BODIES: Record<string, object> = {
  createLineRequest: { firstName: 'Ana', lastName: 'Lopez', channelType: 'email', lineType: 'byo' },
  sendMessage: { recipientPhone: '+14155550123', message: 'Hello' },
  createCampaign: { name: 'Spring', start: true, steps: [] },
  inviteToTeam: { email: 'ana@example.com' },
};

const withAgency = async (status: string): Promise<TestWorkspace> => {
  const agency = await createAgency(app, { billing_mode: 'none' });
  return createWorkspace(app, { agency_id: agency.id, plan: null, subscription_status: status });
};
const alone = (status: string): Promise<TestWorkspace> =>
  createWorkspace(app, { billing_mode: 'none', plan: null, subscription_status: status });

describe.each([
  ['of an agency', withAgency],
  ['without an agency', alone],
])('in a workspace %s that needs no plan', (_, create) => {
  it.each(SUBSCRIPTIONS)('no route answers 402 with the subscription %s', async (status) => {
    const workspace = await create(status);
    const owner = { userId: workspace.ownerId, organizationId: workspace.id, role: 'org:admin' };
    const session = `Bearer ${await signIn(app, owner)}`;
    const answers: string[] = [];
    for (const route of tenantRoutes.filter(({ caller }) => caller === 'workspace')) {
      const body = BODIES[route.id] ?? {};
      const answer = await call(app.url, route, session, { body });
      if (answer.status === 402) answers.push(`${route.id}: ${answer.body.code}`);
    }
    expect(answers).toEqual([]);
  });

  it('every kind of line is granted at once, and none is counted by a plan', async () => {
    const { api } = await create('none');
    for (const channelType of ['imessage', 'sms', 'email', 'imessage', 'sms', 'email'])
      expect(
        await api('POST', '/api/line-requests', { ...BODIES['createLineRequest'], channelType }),
      ).toMatchObject({ status: 201, body: { status: 'provisioning', paymentRequired: false } });
  });

  it('the billing mode is shown', async () => {
    const { api } = await create('none');
    expect((await api('GET', '/api/workspace')).body.workspace).toMatchObject({
      billingMode: 'none',
      subscriptionStatus: 'none',
    });
  });
});

test('an agency that pays nothing is told so, and its clients change whatever was past due', async () => {
  const agency = await createAgency(app, { billing_mode: 'none' });
  const client = await createWorkspace(app, { agency_id: agency.id, subscription_status: 'past_due' });
  expect((await agency.api('GET', '/api/agency/subaccounts')).body.subAccounts).toMatchObject([
    { billingMode: 'none' },
  ]);
  expect(await agency.api('POST', '/api/agency/email-preferences', { enabled: true })).toMatchObject({
    status: 200,
  });
  expect(
    await agency.api('POST', '/api/agency/billing/subscribe', { workspaceId: client.id, plan: 'mini' }),
  ).toMatchObject({ status: 409, body: { code: 'BILLING_DISABLED' } });
});
