import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, type TestAgency } from '#test/support/factories.ts';
import { auditOf } from '#test/support/operators.ts';
import { charged, controlPayments } from '#test/support/payments.ts';
import { environment } from '#test/support/process.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { ops } from '#workers/ops.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const BY = ['--by', 'Dana', '--reason', 'contract'];
/** Where people sign in at an identity provider. */
const PROVIDER = { AUTH_JWKS_URL: 'https://id.example.com/keys' };

const run = (args: string[], more: Record<string, string> = {}) =>
  ops(args, { ...environment(app.config), PUBLIC_URL: app.url, ...more });

// oxlint-disable-next-line no-explicit-any
async function verdict(args: string[], more: Record<string, string> = {}): Promise<any> {
  const { status, stdout, stderr } = await run(args, more);
  expect([status, stderr], args.join(' ')).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** Signs in with a link, in a browser of its own. @returns a client with the session. */
async function signInWith(link: string) {
  const response = await fetch(link, { method: 'POST', redirect: 'manual' });
  expect(response.status).toBe(303);
  const [cookie = ''] = response.headers.getSetCookie().filter((header) => header.includes('session='));
  const pair = cookie.split(';')[0] ?? '';
  const anybody = apiClient(app.url, '');
  const { body } = await anybody('GET', '/auth/session', undefined, { cookie: pair });
  const headers = { cookie: pair, 'x-console-session': body.sessionId };
  return (method: string, path: string, sent?: unknown, more = {}) =>
    anybody(method, path, sent, { ...headers, ...more });
}

describe('an agency', () => {
  it('is made once by its name and its owner, who gets in with the link once', async () => {
    const args = ['create-agency', 'Harbour Group', '--owner', 'Ana@harbour.example', ...BY];
    const first = await verdict(args);
    const second = await verdict(args);
    expect(second).toMatchObject({ agencyId: first.agencyId, created: false });
    expect(first).toMatchObject({ created: true, linkExpiresAt: expect.any(String) });
    const { workspaceId } = await verdict(['create-workspace', 'Client', '--agency', first.agencyId, ...BY]);
    const owner = await signInWith(first.link);
    expect((await owner('GET', '/api/agency/subaccounts')).body.subAccounts).toMatchObject([
      { idpOrgId: workspaceId, billingMode: 'card' },
    ]);
    expect((await fetch(first.link, { method: 'POST' })).status).toBe(404);
    await signInWith(second.link);
    const log = (await owner('GET', '/api/agency/audit-log')).body.entries;
    expect(
      log.map(({ action, channel, reason }: Record<string, string>) => [action, channel, reason]),
    ).toEqual([
      ['workspace.created', 'operator', 'contract'],
      ['agency.created', 'operator', 'contract'],
    ]);
  });

  it('without a client lets its owner and its co-admins in, who create the first one', async () => {
    const { agencyId, link } = await verdict(['create-agency', 'New', '--owner', 'new@example.com', ...BY]);
    const invite = ['invite', 'partner@example.com', '--agency', agencyId, ...BY];
    const invited = await verdict(invite);
    expect(invited).toMatchObject({ agencyId, created: true, linkExpiresAt: expect.any(String) });
    expect(await verdict(invite)).toMatchObject({ created: false });
    const [owner, partner] = [await signInWith(link), await signInWith(invited.link)];
    for (const person of [owner, partner]) {
      expect((await person('GET', '/auth/session')).body).toMatchObject({ needsClient: true });
      expect((await person('GET', '/api/workspace')).status).toBe(401);
      expect((await person('GET', '/api/agency/subaccounts')).body.subAccounts).toEqual([]);
    }
    const created = await partner('POST', '/api/agency/subaccounts', { name: 'First' });
    expect(created.status).toBe(201);
    const { idpOrgId } = created.body.subAccount;
    // The sessions that are open go on in its workspace.
    for (const person of [owner, partner]) {
      expect((await person('GET', '/auth/session')).body).not.toHaveProperty('needsClient');
      expect((await person('GET', '/api/workspace')).body.workspace).toMatchObject({ _id: idpOrgId });
    }
    expect((await owner('GET', '/api/agency/members')).body.members).toMatchObject([
      { email: 'new@example.com', role: 'owner' },
      { email: 'partner@example.com', role: 'co_admin' },
    ]);
    const { entries } = (await owner('GET', '/api/agency/audit-log')).body;
    expect(entries.map(({ action }: { action: string }) => action).toSorted()).toEqual([
      'agency.created',
      'agency_admin.joined',
      'session.started',
      'session.started',
      'workspace.created',
    ]);
    expect((await owner('DELETE', '/api/sessions/current')).status).toBe(200);
    expect((await owner('GET', '/api/workspace')).status).toBe(401);
  });

  it.each([
    ['of no agency', ['--agency', 'agency_nobody'], 1],
    ['of an agency and a workspace', ['--agency', 'a', '--workspace', 'b'], 2],
    ['with a role of a workspace', ['--agency', 'a', '--role', 'admin'], 2],
  ])('has no co-admin %s', async (_, options, status) => {
    expect(await run(['invite', 'x@example.com', ...options, ...BY])).toMatchObject({ status });
  });

  it('has the billing mode that is asked for, by default that of the installation', async () => {
    const mode = async (name: string, options: string[], more = {}) => {
      const owner = ['--owner', `${name}@example.com`];
      const { agencyId, link } = await verdict(['create-agency', name, ...owner, ...options, ...BY], more);
      await verdict(['create-workspace', name, '--agency', agencyId, ...BY]);
      return (await (await signInWith(link))('GET', '/api/agency/billing')).body.billingMode;
    };
    expect(await mode('one', ['--billing', 'invoice'])).toBe('invoice');
    expect(await mode('two', [])).toBe('card');
    expect(await mode('three', [], { NODE_ENV: 'production' })).toBe('none');
    expect(await mode('four', [], { NODE_ENV: 'production', STRIPE_SECRET_KEY: 'sk_live' })).toBe('card');
  });
});

async function planOf(agency: TestAgency, workspaceId: string) {
  const { body } = await apiClient(app.url, agency.key)('GET', '/api/agency/subaccounts');
  const found = body.subAccounts.find(({ idpOrgId }: { idpOrgId: string }) => idpOrgId === workspaceId);
  return { plan: found.plan, subscriptionStatus: found.subscriptionStatus };
}

describe('a workspace', () => {
  const create = (name: string, ...options: string[]) =>
    verdict(['create-workspace', name, '--owner', 'owner@example.com', ...options, ...BY]);

  it('is made once by its name and its owner, also by two operators at once', async () => {
    const zone = ['--timezone', 'Europe/Madrid', '--country', 'ES'];
    const made = await Promise.all([create('Twice', ...zone), create('Twice', ...zone)]);
    expect(new Set(made.map(({ workspaceId }) => workspaceId)).size).toBe(1);
    expect(made.map(({ created }) => created).toSorted()).toEqual([false, true]);
    const owner = await signInWith(made[0].link);
    expect((await owner('GET', '/api/workspace')).body.workspace).toMatchObject({
      name: 'Twice',
      timezone: 'Europe/Madrid',
      country: 'ES',
      billingMode: 'card',
    });
    expect(await auditOf(app, made[0].workspaceId)).toEqual([
      `Dana: workspace.created ${made[0].workspaceId} contract`,
    ]);
    const other = await verdict(['create-workspace', 'Twice', '--owner', 'other@example.com', ...BY]);
    expect(other.workspaceId).not.toBe(made[0].workspaceId);
  });

  it('gets members with a link, who keep their role', async () => {
    const { workspaceId } = await create('Team');
    const invite = (role: string) =>
      verdict(['invite', 'member@example.com', '--workspace', workspaceId, '--role', role, ...BY]);
    const { link } = await invite('member');
    expect(await invite('admin')).toMatchObject({ created: false });
    const member = await signInWith(link);
    expect((await member('GET', '/api/team')).body.members).toMatchObject([
      { email: 'owner@example.com', role: 'org:admin', isOwner: true },
      { email: 'member@example.com', role: 'org:member', isOwner: false },
    ]);
  });

  it('gets a plan that is not charged, until it pays at the provider', async () => {
    const { workspaceId, link } = await create('Planned');
    const set = ['set-plan', workspaceId, '--plan', 'starter', ...BY];
    expect(await verdict(set)).toEqual({ workspaceId, plan: 'starter' });
    await verdict(set);
    const owner = await signInWith(link);
    const here = { 'x-workspace-id': workspaceId };
    expect((await owner('GET', '/api/workspace', undefined, here)).body.workspace).toMatchObject({
      subscriptionStatus: 'active',
    });
    expect((await auditOf(app, workspaceId)).filter((entry) => entry.includes('subscription'))).toHaveLength(
      1,
    );
    const paying = await createWorkspace(app, { payment_subscription_id: 'sub_1' });
    const { status, stderr } = await run(['set-plan', paying.id, '--plan', 'mini', ...BY]);
    expect([status, JSON.parse(stderr).code]).toEqual([1, 'INVALID_STATE']);
  });

  it('keeps a plan that is not charged whatever its former subscription reports, and pays for the next one', async () => {
    const agency = await createAgency(app);
    const { id } = await createWorkspace(app, { agency_id: agency.id });
    const subscribe = async (plan: string) => {
      const asked = { workspaceId: id, plan };
      return (await apiClient(app.url, agency.key)('POST', '/api/agency/billing/subscribe', asked)).body;
    };
    const former = (await subscribe('starter')).subscriptionId;
    const endFormer = () => controlPayments(app, `subscriptions/${former}`, { status: 'canceled' });
    await endFormer();
    for (const plan of ['starter', 'growth']) await verdict(['set-plan', id, '--plan', plan, ...BY]);
    await endFormer();
    expect(await planOf(agency, id)).toEqual({ plan: 'growth', subscriptionStatus: 'active' });
    const { subscriptionId } = await subscribe('growth');
    expect(subscriptionId).not.toBe(former);
    expect((await charged(app, id)).subscriptions).toMatchObject([
      { id: former, status: 'canceled' },
      { id: subscriptionId, status: 'active' },
    ]);
  });

  it('goes on sending when its agency pays by invoice, whatever its former subscription reports', async () => {
    const agency = await createAgency(app);
    const { id, api } = await createWorkspace(app, { agency_id: agency.id });
    const subscribe = async () => {
      const asked = { workspaceId: id, plan: 'starter' };
      return (await apiClient(app.url, agency.key)('POST', '/api/agency/billing/subscribe', asked)).body;
    };
    const former = (await subscribe()).subscriptionId;
    await createLine(app, id);
    await verdict(['set-billing', agency.id, '--billing', 'invoice', ...BY]);
    for (const status of ['past_due', 'canceled']) {
      await controlPayments(app, `subscriptions/${former}`, { status });
      expect((await api('POST', '/api/messages', { message: 'Hi', recipientPhone: phone() })).status).toBe(
        201,
      );
    }
    expect(await planOf(agency, id)).toEqual({ plan: 'starter', subscriptionStatus: 'active' });
    await verdict(['set-billing', agency.id, '--billing', 'card', ...BY]);
    expect((await subscribe()).subscriptionId).not.toBe(former);
  });

  it('sends again when its agency moves to invoices while a payment is past due', async () => {
    const agency = await createAgency(app);
    const { id, api } = await createWorkspace(app, {
      agency_id: agency.id,
      plan: 'starter',
      subscription_status: 'past_due',
    });
    await createLine(app, id);
    const message = { message: 'Hi', recipientPhone: phone() };
    expect((await api('POST', '/api/messages', message)).status).toBe(402);
    await verdict(['set-billing', agency.id, '--billing', 'invoice', ...BY]);
    await eventually(async () => (await api('POST', '/api/messages', message)).status === 201);
    await eventually(async () => (await sentTo(app, message.recipientPhone)).length === 1);
    expect(await planOf(agency, id)).toEqual({ plan: 'starter', subscriptionStatus: 'active' });
  });

  it('goes on sending when nobody pays any more, and its agency is charged again when that is set', async () => {
    const agency = await createAgency(app);
    const { id, api } = await createWorkspace(app, { agency_id: agency.id, subscription_status: 'past_due' });
    const lineId = await createLine(app, id);
    const suspended = { message: 'Hi', recipientPhone: phone(), fromLineId: lineId };
    expect((await api('POST', '/api/messages', suspended)).status).toBe(402);
    const set = (mode: string) => verdict(['set-billing', agency.id, '--billing', mode, ...BY]);
    expect(await set('none')).toEqual({ id: agency.id, billingMode: 'none' });
    await set('none');
    await eventually(async () => (await api('POST', '/api/messages', suspended)).status === 201);
    await eventually(async () => (await sentTo(app, suspended.recipientPhone)).length === 1);
    await set('card');
    await eventually(async () => (await api('POST', '/api/messages', suspended)).status === 402);
    expect(await run(['set-billing', id, '--billing', 'none', ...BY])).toMatchObject({ status: 1 });
    const alone = await createWorkspace(app, { subscription_status: 'none' });
    await verdict(['set-billing', alone.id, '--billing', 'none', ...BY]);
    expect(await auditOf(app, alone.id)).toEqual([`Dana: subscription.changed ${alone.id} contract`]);
    expect((await run(['set-billing', alone.id, '--billing', 'invoice', ...BY])).status).toBe(2);
  });

  it('that is suspended sends nothing and refuses changes, keeps its messages, and goes on when it is resumed', async () => {
    const agency = await createAgency(app);
    const workspace = await createWorkspace(app, { agency_id: agency.id });
    const { id, api } = workspace;
    const fromLineId = await createLine(app, id);
    const scheduledDate = new Date(Date.now() + 1500).toISOString();
    const to = phone();
    const waiting = await api('POST', '/api/messages', {
      message: 'Hi',
      recipientPhone: to,
      fromLineId,
      scheduledDate,
    });
    expect(await verdict(['suspend-workspace', id, ...BY])).toEqual({ workspaceId: id, isSuspended: true });
    await verdict(['suspend-workspace', id, ...BY]);
    const suspended = { status: 403, body: { code: 'WORKSPACE_SUSPENDED' } };
    const message = { message: 'Hi', recipientPhone: phone(), fromLineId };
    expect(await api('POST', '/api/messages', message)).toMatchObject(suspended);
    expect(await api('POST', '/api/drip', message)).toMatchObject(suspended);
    const owner = await sessionClient(app, {
      userId: workspace.ownerId,
      organizationId: id,
      role: 'org:admin',
    });
    expect(await owner('POST', '/api/keys', { name: 'Another' })).toMatchObject(suspended);
    expect(await agency.api('POST', '/api/agency/email-preferences', { enabled: false })).toMatchObject(
      suspended,
    );
    expect((await api('GET', '/api/workspace')).body.workspace.suspended).toBe(true);

    const shown = async () => (await api('GET', `/api/messages/${waiting.body._id}`)).body;
    await eventually(async () => (await shown()).holdReason === 'workspace_suspended');
    await eventually(async () => Date.now() > Date.parse(scheduledDate) + 2000);
    expect(await sentTo(app, to)).toEqual([]);
    const { waitingFor } = await verdict(['timeline', waiting.body._id]);
    expect(waitingFor).toMatchObject({ reason: 'workspace_suspended', until: null });

    expect(await verdict(['resume-workspace', id, ...BY])).toEqual({ workspaceId: id, isSuspended: false });
    await eventually(async () => (await sentTo(app, to)).length === 1);
    expect((await api('POST', '/api/messages', message)).status).toBe(201);
    expect(await auditOf(app, id)).toEqual([
      `Dana: workspace.suspended ${id} contract`,
      `Dana: workspace.resumed ${id} contract`,
    ]);
  });

  it('has all of its lines paused and resumed, except those that somebody has paused before', async () => {
    const { id, api } = await createWorkspace(app);
    const elsewhere = await createWorkspace(app);
    const [one, two] = [await createLine(app, id), await createLine(app, id)];
    await createLine(app, elsewhere.id);
    await api('POST', `/api/lines/${two}/pause`, { reason: 'holiday' });
    const paused = async () => {
      const { lines } = await verdict(['list-lines', '--workspace', id]);
      return lines
        .filter(({ isPaused }: { isPaused: boolean }) => isPaused)
        .map(({ lineId }: { lineId: string }) => lineId);
    };
    expect(await verdict(['pause-all-lines', '--workspace', id, ...BY])).toEqual({ pausedLines: 1 });
    expect(await paused()).toEqual([one, two]);
    expect(await verdict(['resume-all-lines', '--workspace', id, ...BY])).toEqual({ resumedLines: 1 });
    expect(await paused()).toEqual([two]);
    expect(await verdict(['resume-all-lines', '--workspace', id, ...BY])).toEqual({ resumedLines: 0 });
    // Whoever resumes a line and pauses it again has paused it by themselves.
    await verdict(['pause-all-lines', '--workspace', id, ...BY]);
    await api('POST', `/api/lines/${one}/resume`);
    await api('POST', `/api/lines/${one}/pause`);
    expect(await verdict(['resume-all-lines', ...BY])).toMatchObject({ resumedLines: 0 });
  });

  it('is listed with its owner, plan and lines', async () => {
    const { id } = await createWorkspace(app, { name: 'Listed' });
    const lineId = await createLine(app, id, 'email', { email: 'listed@example.com' });
    const { workspaces } = await verdict(['list-workspaces', '--limit', '100000']);
    expect(workspaces.find(({ workspaceId }: { workspaceId: string }) => workspaceId === id)).toMatchObject({
      name: 'Listed',
      plan: 'growth',
      billingMode: 'card',
      suspendedAt: null,
      lines: 1,
    });
    expect(await verdict(['list-lines', '--workspace', id])).toMatchObject({
      lines: [{ lineId, workspaceId: id, address: 'listed@example.com', carrier: 'simulated', waiting: 0 }],
    });
  });
});

test('where people sign in at an identity provider, the link is an invitation, and who accepts it owns what was made', async () => {
  const made = await verdict(['create-workspace', 'Provided', '--owner', 'sub@example.com', ...BY], PROVIDER);
  const again = await verdict(
    ['create-workspace', 'Provided', '--owner', 'sub@example.com', ...BY],
    PROVIDER,
  );
  expect(again).toMatchObject({ workspaceId: made.workspaceId, created: false });
  expect(made.link).toContain('/invitations/');
  expect((await fetch(made.link, { method: 'POST' })).status).toBe(404);
  const accept = async (link: string, userId: string) => {
    const { body, status } = await (await sessionClient(app, { userId }))('POST', new URL(link).pathname);
    expect([status, body]).toEqual([200, expect.stringContaining('<h1>')]);
  };
  await accept(again.link, 'idp|ana');
  const claims = { userId: 'idp|ana', organizationId: made.workspaceId, role: 'org:admin' };
  const owner = await sessionClient(app, claims);
  expect((await owner('GET', '/api/team')).body.members).toMatchObject([
    { userId: 'idp|ana', isOwner: true },
  ]);

  const agency = await verdict(['create-agency', 'Provided', '--owner', 'boss@example.com', ...BY], PROVIDER);
  await accept(agency.link, 'idp|boss');
  const boss = await sessionClient(app, { userId: 'idp|boss' });
  expect((await boss('GET', '/api/agency/members')).body.members).toMatchObject([{ role: 'owner' }]);
});

test.each([
  [['create-agency', 'Name', ...BY], 2, '--owner'],
  [['create-agency', 'Name', '--owner', 'ana@example.com'], 2, '--by'],
  [['create-agency', 'Name', '--owner', 'ana', ...BY], 2, '--owner must be an email address'],
  [
    ['create-agency', 'Name', '--owner', 'a@b.example', '--billing', 'gold', ...BY],
    2,
    '--billing must be one of',
  ],
  [['create-workspace', 'Name', ...BY], 2, '--owner EMAIL is required'],
  [['create-workspace', 'Name', '--owner', 'a@b.example', '--timezone', 'Mars/Base', ...BY], 2, 'timezone'],
  [['create-workspace', 'Name', '--agency', 'agency_0', ...BY], 1, 'There is no agency'],
  [['invite', 'a@b.example', ...BY], 2, '--workspace'],
  [['invite', 'a@b.example', '--workspace', `org_${'0'.repeat(24)}`, ...BY], 1, 'There is no workspace'],
  [['set-plan', `org_${'0'.repeat(24)}`, '--plan', 'mini', ...BY], 1, 'There is no workspace'],
  [['suspend-workspace', `org_${'0'.repeat(24)}`, ...BY], 1, 'There is no workspace'],
  [['suspend-workspace', 'Harbour', ...BY], 1, 'is not an id'],
  [['list-lines', '--limit', '0'], 2, '--limit'],
])('%j ends with the status %i', async (args, status, text) => {
  const ended = await run(args);
  expect([ended.status, ended.stdout]).toEqual([status, '']);
  expect(ended.stderr).toContain(text);
});
