import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem, withTenant } from '#db/connection/transactions.ts';
import { type AuditEntry, byOperator, type NewAuditEntry } from '#domain/accounts/audit.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { tenantRoutes } from '#test/conformance/requests.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createLead, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';
import { plantSession } from '#test/support/user-sessions.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

interface World {
  workspace: { id: string; key: string; ownerId: string };
  agency: { id: string; key: string; ownerId: string };
  /** Clients with the workspace's key and with its owner's session. */
  api: ApiClient;
  session: ApiClient;
  /** A client with the session of the agency's owner. */
  agent: ApiClient;
}

async function world(): Promise<World> {
  const agency = await createAgency(app, { billing_mode: 'invoice' });
  const workspace = await createWorkspace(app, { agency_id: agency.id });
  const { ownerId: userId, id: organizationId } = workspace;
  return {
    workspace,
    agency,
    api: apiClient(app.url, workspace.key),
    session: await sessionClient(app, { userId, organizationId, role: 'org:admin' }),
    agent: await sessionClient(app, { userId: agency.ownerId }),
  };
}

async function bodyOf(response: ReturnType<ApiClient>) {
  const { status, body } = await response;
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body;
}

const logOf = async (session: ApiClient, query = '', path = '/api/audit-log') =>
  (await bodyOf(session('GET', `${path}?limit=200${query}`))).entries;

const endpoint = { url: 'https://hooks.example.com/in?token=secret-of-the-url', events: ['message.sent'] };

async function openDraft({ workspace }: World, address: string): Promise<string> {
  const replyId = newId();
  await insertRow(app, 'inbound_messages', {
    workspace_id: workspace.id,
    id: replyId,
    line_id: newId(),
    address,
    carrier_message_id: replyId,
    body: 'Is it still free?',
    received_at: new Date(),
  });
  await insertRow(app, 'ai_drafts', {
    workspace_id: workspace.id,
    reply_id: replyId,
    address,
    status: 'drafted',
    draft: 'secret draft',
    due_at: new Date(),
  });
  return replyId;
}

/** Makes each change that the workspace routes record, once. */
async function changeEverything(of: World): Promise<void> {
  const { api, session, workspace } = of;
  const key = await bodyOf(session('POST', '/api/keys', { name: 'CI' }));
  await bodyOf(session('POST', `/api/keys/${key._id}/roll`, { overlapHours: 1 }));
  await bodyOf(session('DELETE', `/api/keys/${key._id}`));
  await bodyOf(session('PATCH', '/api/workspace', { reputationPolicy: 'observe' }));
  await bodyOf(session('PUT', '/api/workspace/quiet-hours', { enabled: true }));
  await bodyOf(session('PUT', '/api/workspace/opening-hours', { closedOn: ['2026-12-25'] }));
  const { webhook } = await bodyOf(api('POST', '/api/webhooks', { ...endpoint, name: 'CRM' }));
  await bodyOf(api('POST', `/api/webhooks/${webhook._id}/replay`, { since: new Date().toISOString() }));
  await bodyOf(api('PATCH', `/api/webhooks/${webhook._id}`, { isActive: false }));
  await bodyOf(api('POST', `/api/webhooks/${webhook._id}/rotate-secret`));
  await bodyOf(api('DELETE', `/api/webhooks/${webhook._id}`));
  await bodyOf(
    api('PATCH', '/api/workspace/fallback-config', { provider: 'simulated', authToken: 'secret-token' }),
  );
  await bodyOf(api('POST', '/api/email-preferences', { preferences: { campaign: { enabled: false } } }));
  await bodyOf(
    api('PUT', '/api/knowledge-base', {
      mode: 'off',
      instructions: 'secret instructions',
      documents: [{ title: 'secret title', text: 'secret text' }],
    }),
  );
  await bodyOf(
    api('POST', '/api/knowledge-base/auto-replies', {
      replyId: await openDraft(of, phone()),
      action: 'reject',
    }),
  );
  await bodyOf(api('POST', '/api/consents', { address: '+14155550162', status: 'granted' }));
  const { invitation } = await bodyOf(api('POST', '/api/team/invite', { email: 'secret@example.com' }));
  await bodyOf(api('DELETE', `/api/team/invitations/${invitation._id}`));
  const member = newUserId();
  await insertRow(app, 'users', { id: member, email: 'secret-member@example.com' });
  await insertRow(app, 'workspace_members', {
    workspace_id: workspace.id,
    user_id: member,
    role: 'org:member',
  });
  await bodyOf(session('PATCH', `/api/team/${member}`, { role: 'org:admin' }));
  await bodyOf(session('DELETE', `/api/team/${member}`));

  const sessionId = await plantSession(app, workspace);
  await bodyOf(session('DELETE', `/api/sessions/${sessionId}`));

  const lineId = await createLine(app, workspace.id);
  await bodyOf(api('PATCH', `/api/lines/${lineId}`, { firstName: 'Secret', dailyTotalMessagesLimit: 80 }));
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const waiting = { message: 'secret text', recipientPhone: phone(), scheduledDate: later };
  const { _id: messageId } = await bodyOf(api('POST', '/api/messages', waiting));
  await bodyOf(api('PATCH', `/api/messages/${messageId}`, { message: 'secret new text' }));
  const sentId = newId();
  await insertRow(app, 'messages', {
    workspace_id: workspace.id,
    id: sentId,
    channel: 'imessage',
    status: 'sent',
    line_id: lineId,
    address: phone(),
    body: 'secret text',
    scheduled_at: new Date(),
    sent_at: new Date(),
    source: 'api',
    carrier_message_id: sentId,
  });
  await bodyOf(api('POST', `/api/messages/${sentId}/unsend`));
  await bodyOf(session('POST', `/api/lines/${lineId}/pause`, { reason: 'Holidays' }));
  await bodyOf(session('POST', `/api/lines/${lineId}/resume`));
  const override = `/api/lines/${lineId}/reputation/override`;
  await bodyOf(api('POST', override, { hours: 1, reason: 'A new list' }));
  await bodyOf(api('DELETE', override));
  const { pool } = await bodyOf(api('POST', '/api/pools', { name: 'All', lines: [{ lineId, weight: 1 }] }));
  await bodyOf(api('PATCH', `/api/pools/${pool._id}`, { name: 'West' }));
  await bodyOf(api('DELETE', `/api/pools/${pool._id}`));
  const [suspicion, address] = [newId(), phone()];
  await insertRow(app, 'opt_out_suspicions', {
    workspace_id: workspace.id,
    id: suspicion,
    address,
    reply_id: await openDraft(of, address),
  });
  await bodyOf(api('POST', `/api/opt-outs/suspected/${suspicion}`, { action: 'dismiss' }));
  await bodyOf(
    api('PUT', `/api/lines/${lineId}/carrier`, {
      provider: 'simulated',
      address: '+14155550123',
      config: {},
    }),
  );
  const answered = phone();
  await openDraft(of, answered);
  await bodyOf(api('POST', '/api/inbox/send-reply', { phone: answered, message: 'secret answer' }));

  const conversation = `/api/conversations/${encodeURIComponent(answered)}`;
  await bodyOf(api('PATCH', conversation, { status: 'closed' }));
  await bodyOf(api('POST', `${conversation}/notes`, { text: 'secret note' }));

  const steps = [{ message: 'secret step', delay: { days: 1 } }];
  const { campaign } = await bodyOf(api('POST', '/api/campaigns', { name: 'Spring', steps }));
  const path = `/api/campaigns/${campaign._id}`;
  await bodyOf(api('PATCH', path, { name: 'Summer' }));
  for (const action of ['start', 'pause', 'resume']) await bodyOf(api('POST', `${path}/${action}`));
  const correction = { stepId: campaign.steps[0].id, message: 'secret correction' };
  await bodyOf(api('POST', `${path}/corrections`, correction));
  await bodyOf(api('POST', `${path}/archive`));
  await bodyOf(api('DELETE', path));

  const join = { name: 'Poster', lineId, text: 'Join', consent: 'secret wording' };
  const link = await bodyOf(api('POST', '/api/opt-in-links', join));
  await bodyOf(api('DELETE', `/api/opt-in-links/${link._id}`));
  const { snippet } = await bodyOf(api('POST', '/api/snippets', { name: 'Hours', text: 'secret snippet' }));
  await bodyOf(api('PATCH', `/api/snippets/${snippet._id}`, { name: 'Prices' }));
  await bodyOf(api('DELETE', `/api/snippets/${snippet._id}`));
  const closing = { name: 'Closing', on: 'reply', do: [{ close: true }] };
  const { rule } = await bodyOf(api('POST', '/api/rules', closing));
  await bodyOf(api('PATCH', `/api/rules/${rule._id}`, { name: 'Ending' }));
  await bodyOf(api('DELETE', `/api/rules/${rule._id}`));

  const leadId = await createLead(app, workspace.id);
  await bodyOf(api('GET', `/api/leads/${leadId}/export`));
  await bodyOf(api('DELETE', `/api/leads/${leadId}?erase=true`));
}

/** Makes each change that the agency routes record, once. */
async function changeEverythingOfAgency({ agent, agency, workspace }: World): Promise<void> {
  const key = await bodyOf(agent('POST', '/api/agency/keys', { name: 'CI' }));
  await bodyOf(agent('DELETE', `/api/agency/keys/${key._id}`));
  const { subAccount } = await bodyOf(
    agent('POST', '/api/agency/subaccounts', { name: 'New', legalName: 'New Inc', timezone: 'UTC' }),
  );
  await bodyOf(
    agent('POST', '/api/agency/billing/subscribe', { workspaceId: subAccount.idpOrgId, plan: 'growth' }),
  );
  await bodyOf(
    agent('POST', '/api/agency/billing/card', { returnUrl: 'https://example.com/?token=secret-return' }),
  );
  await bodyOf(agent('POST', '/api/agency/email-preferences', { enabled: false }));
  const { webhooks } = await bodyOf(
    agent('POST', '/api/agency/webhooks', { ...endpoint, workspaceId: workspace.id }),
  );
  await bodyOf(agent('DELETE', `/api/agency/webhooks/${webhooks[0]._id}`));
  const lineId = await createLine(app, workspace.id);
  const transfer = { action: 'transfer', lineId, targetWorkspaceId: subAccount.idpOrgId };
  await bodyOf(agent('POST', '/api/agency/lines', transfer));
  await bodyOf(agent('POST', '/api/agency/lines', { action: 'delete', lineId }));
  await bodyOf(agent('POST', '/api/agency/admins', { email: 'secret-admin@example.com' }));
  const suppressed = { address: 'secret-suppressed@example.com' };
  await bodyOf(agent('POST', '/api/agency/suppressions', suppressed));
  await bodyOf(agent('DELETE', '/api/agency/suppressions', suppressed));
  const { invitations } = await bodyOf(agent('GET', '/api/agency/invitations'));
  await bodyOf(agent('DELETE', `/api/agency/invitations/${invitations[0]._id}`));
  const coAdmin = newUserId();
  await insertRow(app, 'users', { id: coAdmin, email: `${coAdmin}@example.test` });
  await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: coAdmin, role: 'co_admin' });
  await bodyOf(agent('DELETE', `/api/agency/admins/${coAdmin}`));
}

const actionsOf = (entries: { action: string }[]): string[] =>
  [...new Set(entries.map(({ action }) => action))].toSorted();

describe('the audit log', () => {
  it('records every change in the log of its workspace or agency, without secrets', async () => {
    const of = await world();
    await changeEverything(of);
    await changeEverythingOfAgency(of);
    // Card billing, so that a line has to be paid for first.
    const own = await createWorkspace(app);
    const owner = await sessionClient(app, {
      userId: own.ownerId,
      organizationId: own.id,
      role: 'org:admin',
    });
    const request = { channelType: 'email', firstName: 'Ada', lastName: 'Secret' };
    const { line } = await bodyOf(owner('POST', '/api/line-requests', request));
    await bodyOf(owner('POST', `/api/line-requests/${line._id}`, { action: 'cancel' }));

    const [workspace, agency, ownLog] = await Promise.all([
      logOf(of.session),
      logOf(of.agent, '', '/api/agency/audit-log'),
      logOf(owner),
    ]);
    const { subAccounts } = await bodyOf(of.agent('GET', '/api/agency/subaccounts'));
    const newId = subAccounts.find(({ name }: { name: string }) => name === 'New').idpOrgId;
    const client = await logOf(of.agent, `&workspaceId=${newId}`);
    // Passkeys require an authenticator (test/console/own-sign-in.test.ts), and chats and CRMs a provider (drafts/chats.test.ts, crm/hubspot.test.ts).
    const declared = tenantRoutes
      .flatMap(({ audit }) => audit?.action ?? [])
      .filter((action) => !/^(passkey|chat_connection|crm_connection)\./.test(action));
    expect(actionsOf([...workspace, ...agency, ...ownLog, ...client])).toEqual(
      [...new Set([...declared, 'line.deleted'])].toSorted(),
    );
    expect(actionsOf(client)).toEqual(
      ['email_preferences.updated', 'line.deleted', 'line.transferred', 'subscription.changed'].toSorted(),
    );
    expect(actionsOf(agency)).toEqual(
      [
        'agency_admin.invited',
        'agency_admin.removed',
        'agency_invitation.deleted',
        'key.created',
        'key.revoked',
        'payment_method.page_opened',
        'suppressions.updated',
        'workspace.created',
      ].toSorted(),
    );
    expect(JSON.stringify([workspace, agency, ownLog, client])).not.toMatch(
      /secret(?!_rotated)|\+1415|@example\.com/i,
    );
  });

  it('records who made a change, through which channel, and the new values', async () => {
    const { api, session, agent, workspace, agency } = await world();
    const lineId = await createLine(app, workspace.id);
    await bodyOf(api('PATCH', `/api/lines/${lineId}`, { isActive: false, firstName: 'Ada' }));
    await bodyOf(session('PATCH', `/api/lines/${lineId}`, { hourlyNewConversationsLimit: null }));
    await bodyOf(agent('POST', '/api/agency/email-preferences', { enabled: true }));
    await withTenant(app.pools, workspace.id, (db) =>
      insertAuditEntry({ db, workspaceId: workspace.id }, paused(lineId)),
    );
    const target = { type: 'line', id: lineId };
    const key = { type: 'key', id: expect.stringMatching(/^[0-9a-f]{24}$/), name: 'Test' };
    expect(await logOf(session)).toMatchObject([
      {
        action: 'line.paused',
        channel: 'operator',
        actor: { type: 'operator', id: null, name: 'Ada' },
        reason: 'The carrier asked for it',
        target,
        changes: {},
      },
      {
        action: 'email_preferences.updated',
        channel: 'session',
        actor: { type: 'user', id: agency.ownerId, name: 'Agency owner' },
        target: { type: 'workspace', id: workspace.id },
        changes: { enabled: true },
      },
      {
        action: 'line.updated',
        channel: 'session',
        actor: { type: 'user', id: workspace.ownerId, name: 'Owner' },
        target,
        changes: { hourlyNewConversationsLimit: null },
      },
      {
        action: 'line.updated',
        channel: 'api',
        actor: key,
        target,
        reason: null,
        changes: { isActive: false, firstName: '••••••••' },
      },
    ]);
  });

  it('records of a reason that may name a contact only that it was given', async () => {
    const { agent } = await world();
    const given = { domain: 'example.com', reason: 'Ada Secret asked for it' };
    await bodyOf(agent('POST', '/api/agency/suppressions', given));
    const [entry] = await logOf(agent, '&action=suppressions.updated', '/api/agency/audit-log');
    expect(entry).toMatchObject({ reason: null, changes: { domain: '••••••••', reason: '••••••••' } });
  });

  it('records what somebody may not do, or does too often, once', async () => {
    const { api, session, agent, workspace, agency } = await world();
    const userId = newUserId();
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Casey' });
    await insertRow(app, 'workspace_members', {
      workspace_id: workspace.id,
      user_id: userId,
      role: 'org:member',
    });
    const member = await sessionClient(app, { userId, organizationId: workspace.id, role: 'org:member' });
    const stranger = await sessionClient(app, {
      userId: newUserId(),
      organizationId: workspace.id,
      role: 'org:member',
    });
    for (let turn = 0; turn < 2; turn += 1) {
      expect((await member('GET', '/api/audit-log')).status).toBe(403);
      expect((await member('POST', '/api/webhooks', endpoint)).status).toBe(403);
      expect((await api('GET', '/api/audit-log')).status).toBe(403);
      expect((await stranger('GET', '/api/audit-log')).status).toBeGreaterThan(400);
      expect((await apiClient(app.url, agency.key)('GET', '/api/agency/audit-log')).status).toBe(403);
    }
    const invite = () => api('POST', '/api/team/invite', { email: 'secret' });
    for (let sent = 0; sent < 22; sent += 1) await invite();
    expect((await invite()).status).toBe(429);

    const refusalsOf = async (of: ApiClient, path?: string) =>
      (await logOf(of, '&action=request.refused', path)).map(
        ({ actor, channel, target, changes }: AuditEntry) => [actor.type, channel, target.id, changes],
      );
    const refusals = await eventually(async () => {
      const found = await refusalsOf(session);
      return found.length >= 4 && found;
    });
    expect(refusals).toHaveLength(4);
    expect(refusals).toEqual(
      expect.arrayContaining([
        ['user', 'session', workspace.id, { route: 'listAuditLog', code: 'ADMIN_REQUIRED' }],
        ['user', 'session', workspace.id, { route: 'createWebhook', code: 'ADMIN_REQUIRED' }],
        ['key', 'api', workspace.id, { route: 'listAuditLog', code: 'SESSION_REQUIRED' }],
        ['key', 'api', workspace.id, { route: 'inviteToTeam', code: 'RATE_LIMITED' }],
      ]),
    );
    const ofAgency = await eventually(async () => {
      const found = await refusalsOf(agent, '/api/agency/audit-log');
      return found.length > 0 && found;
    });
    expect(ofAgency).toEqual([
      ['key', 'api', agency.id, { route: 'listAgencyAuditLog', code: 'SESSION_REQUIRED' }],
    ]);
  });

  it('is exported as lines of JSON, oldest first', async () => {
    const { session, workspace } = await world();
    const ids = Array.from({ length: 501 }, () => newId());
    await withTenant(app.pools, workspace.id, async (db) => {
      for (const id of ids) await insertAuditEntry({ db, workspaceId: workspace.id }, paused(id));
    });
    const { status, body, headers } = await session('GET', '/api/audit-log/export');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const lines = String(body).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).target.id)).toEqual(ids);
    const [listed] = await logOf(session);
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual(listed);
    const later = new Date(Date.now() + 60_000).toISOString();
    expect((await session('GET', `/api/audit-log/export?since=${later}`)).body).toBe('');
  });

  it('records no request that is wrong in itself, and a repeated Idempotency-Key once', async () => {
    const { api, session } = await world();
    const again = { 'idempotency-key': 'once' };
    const body = { ...endpoint, name: 'CRM' };
    await bodyOf(api('POST', '/api/webhooks', body, again));
    await bodyOf(api('POST', '/api/webhooks', body, again));
    expect((await api('POST', '/api/webhooks', { ...body, name: 'Other' }, again)).status).toBe(409);
    expect((await api('DELETE', `/api/webhooks/${newId()}`)).status).toBe(404);
    expect((await api('PATCH', '/api/workspace/fallback-config', { provider: 'twilio' })).status).toBe(400);
    expect(actionsOf(await logOf(session))).toEqual(['webhook.created']);
    expect(await logOf(session)).toHaveLength(1);
  });

  it('is listed in pages, newest first, and filtered', async () => {
    const { session, workspace } = await world();
    const ids = [newId(), newId(), newId()];
    for (const id of ids)
      await withTenant(app.pools, workspace.id, (db) =>
        insertAuditEntry({ db, workspaceId: workspace.id }, paused(id)),
      );
    await bodyOf(session('POST', '/api/keys', { name: 'CI' }));
    const targets = (entries: { target: { id: string } }[]) => entries.map(({ target }) => target.id);
    const first = await bodyOf(session('GET', '/api/audit-log?action=line.paused&limit=2'));
    const second = await bodyOf(
      session('GET', `/api/audit-log?action=line.paused&limit=2&cursor=${first.nextCursor}`),
    );
    expect(targets([...first.entries, ...second.entries])).toEqual(ids.toReversed());
    expect(second.nextCursor).toBeNull();
    expect(targets(await logOf(session, `&targetType=line&targetId=${ids[1]}`))).toEqual([ids[1]]);
    expect(actionsOf(await logOf(session, `&actorId=${workspace.ownerId}`))).toEqual(['key.created']);
    expect(actionsOf(await logOf(session, '&channel=operator'))).toEqual(['line.paused']);
    const [newest, , , oldest] = await logOf(session);
    expect(await logOf(session, `&since=${newest.at}&until=${newest.at}`)).toContainEqual(newest);
    expect(await logOf(session, `&until=${oldest.at}`)).toContainEqual(oldest);
    expect(await logOf(session, '&until=2020-01-01T00:00:00Z')).toEqual([]);
  });

  it('is readable only by admins of the workspace and of its agency', async () => {
    const { api, agent, workspace, agency } = await world();
    const foreign = await world();
    const statusAndCode = async (by: ApiClient, query = '') => {
      const { status, body } = await by('GET', `/api/audit-log${query}`);
      return [status, body.code];
    };
    const organizationId = workspace.id;
    const member = await signIn(app, { userId: newUserId(), organizationId, role: 'org:member' });
    expect(await statusAndCode(api)).toEqual([403, 'SESSION_REQUIRED']);
    expect(await statusAndCode(apiClient(app.url, agency.key))).toEqual([403, 'SESSION_REQUIRED']);
    expect(await statusAndCode(apiClient(app.url, member))).toEqual([403, 'ADMIN_REQUIRED']);
    expect(await statusAndCode(agent, `?workspaceId=${workspace.id}`)).toEqual([200, undefined]);
    const notFound = [404, 'WORKSPACE_NOT_FOUND'];
    expect(await statusAndCode(agent, `?workspaceId=${foreign.workspace.id}`)).toEqual(notFound);
    expect(await statusAndCode(apiClient(app.url, member), `?workspaceId=${foreign.workspace.id}`)).toEqual(
      notFound,
    );
    // A member of two agencies reads a workspace only as a member of its own agency.
    await insertRow(app, 'agency_members', {
      agency_id: foreign.agency.id,
      user_id: agency.ownerId,
      role: 'co_admin',
    });
    const as = { 'x-agency-id': foreign.agency.id };
    const named = (id: string) => agent('GET', `/api/audit-log?workspaceId=${id}`, undefined, as);
    expect((await named(workspace.id)).status).toBe(404);
    expect((await named(foreign.workspace.id)).status).toBe(200);
  });

  it('cannot be changed by any login, nor deleted by a tenant', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    const entry = paused(newId());
    await withTenant(app.pools, workspaceId, (db) => insertAuditEntry({ db, workspaceId }, entry));
    const statements = {
      update: sql.type(NoRows)`update audit_log set actor_name = 'Eve'`,
      delete: sql.type(NoRows)`delete from audit_log`,
    };
    const asTenant = (name: keyof typeof statements) =>
      withTenant(app.pools, workspaceId, (db) => db.query(statements[name]));
    await expect(asTenant('update')).rejects.toThrow('permission denied');
    await expect(asTenant('delete')).rejects.toThrow('permission denied');
    await expect(withSystem(app.pools, (db) => db.query(statements.update))).rejects.toThrow(
      'permission denied',
    );
    const other = await createWorkspace(app);
    await expect(
      withTenant(app.pools, other.id, (db) => insertAuditEntry({ db, workspaceId }, entry)),
    ).rejects.toThrow('row-level security');
  });

  it('of an agency cannot be changed either', async () => {
    const { id: agencyId } = await createAgency(app);
    await withSystem(app.pools, (db) => insertAuditEntry({ db, agencyId }, paused(newId())));
    await expect(
      withSystem(app.pools, (db) =>
        db.query(sql.type(NoRows)`update agency_audit_log set actor_name = 'Eve'`),
      ),
    ).rejects.toThrow('permission denied');
  });
});

const paused = (lineId: string): NewAuditEntry => ({
  ...byOperator({ by: 'Ada', reason: 'The carrier asked for it' }),
  action: 'line.paused',
  target: { type: 'line', id: lineId },
});

/** Requests that change something but are not recorded, and why. */
const NOT_RECORDED: Record<string, string> = {
  sendMessage: 'each message is not recorded',
  cancelMessage: 'each message is not recorded',
  reactToMessage: 'each message is not recorded',
  drip: 'each message is not recorded',
  sendFallbackSms: 'each message is not recorded',
  addCampaignLead: 'each lead is not recorded',
  stopCampaignLead: 'each lead is not recorded',
  createLeads: 'each lead is not recorded',
  previewImport: 'changes nothing',
  createPasskeyOptions: 'only the passkey is recorded',
  updateLead: 'each lead is not recorded',
  changeLeads: 'each lead is not recorded; opt-outs record themselves',
  undoLeadsChange: 'each lead is not recorded',
  createList: 'lists are no settings',
  updateList: 'lists are no settings',
  deleteList: 'lists are no settings',
  importLeads: 'lists are no settings',
  createSegment: 'segments are no settings',
  updateSegment: 'segments are no settings',
  deleteSegment: 'segments are no settings',
  createVerification: 'each verification is not recorded',
  createOptOut: 'opt-outs are records of their own',
  deleteOptOut: 'opt-outs are records of their own',
  deleteNamedOptOut: 'opt-outs are records of their own',
  tagConversation: 'tags are no settings',
  addLeadTags: 'tags are no settings',
  removeLeadTags: 'tags are no settings',
  reportPresence: 'is not even stored',
  showTyping: 'changes nothing that stays',
  createGroup: 'is recorded like each message: not at all',
  readConversation: 'what a user has read is theirs',
  unreadConversation: 'what a user has read is theirs',
  createSavedFilter: 'how somebody looks at the inbox',
  updateSavedFilter: 'how somebody looks at the inbox',
  deleteSavedFilter: 'how somebody looks at the inbox',
  uploadAttachment: 'files are no settings',
  previewCampaign: 'changes nothing',
  checkCampaign: 'changes nothing',
  dryRunCampaignEdit: 'changes nothing',
  dryRunRule: 'changes nothing',
  startAutopilotDryRun: 'changes nothing',
  checkAvailability: 'changes nothing',
  checkAvailabilityRoundRobinPost: 'changes nothing',
  replayWebhookDelivery: 'is in the delivery log',
  pingWebhook: 'is in the delivery log',
  createDraft: 'what is decided about it is recorded',
  forecast: 'changes nothing',
  previewQuietHours: 'changes nothing',
  checkCrmConnection: 'changes nothing',
  testCarrierSettings: 'changes nothing',
  testLineCarrier: 'changes nothing',
  forecastCampaign: 'changes nothing',
  mcp: 'the endpoint of each tool records',
  openTestMode: 'makes the twin that test keys need, and whose keys are recorded',
  createTestLine: 'happens in test mode only',
  moveTestClock: 'happens in test mode only',
  testAction: 'happens in test mode only',
  testInbound: 'happens in test mode only',
  testReceipt: 'happens in test mode only',
  resetTestMode: 'happens in test mode only',
};

test('every request that changes something is recorded, except for a documented reason', () => {
  const changing = tenantRoutes.filter(({ method }) => method !== 'GET');
  const unrecorded = changing.filter(({ audit }) => !audit).map(({ id }) => id);
  expect(unrecorded.toSorted()).toEqual(Object.keys(NOT_RECORDED).toSorted());
});

test('a handler that opens its own transactions records its changes itself', () => {
  const open = tenantRoutes.filter(({ transaction, audit }) => transaction === false && audit);
  expect(open.length).toBeGreaterThan(4);
  expect(open.filter(({ audit }) => audit?.targets !== 'handler').map(({ id }) => id)).toEqual([]);
});
