import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/ids.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';

let app: TestApp;
let agency: { id: string; key: string; ownerId: string };
let other: { id: string; key: string; ownerId: string };
let api: ApiClient;
let otherApi: ApiClient;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());
// An agency of its own for each group: what one makes is not in the other's lists.
const begin = async (): Promise<void> => {
  [agency, other] = await Promise.all([createAgency(app), createAgency(app)]);
  [api, otherApi] = [apiClient(app.url, agency.key), apiClient(app.url, other.key)];
};
const clientOf = (agencyId: string, name = 'Client') => createWorkspace(app, { agency_id: agencyId, name });

describe('subaccounts', () => {
  beforeAll(begin);
  const input = { name: 'Acme', legalName: 'Acme Ltd.', timezone: 'Europe/Berlin' };

  it('are made with a key that works at once, and the agency owner as their owner', async () => {
    const { status, body } = await api('POST', '/api/agency/subaccounts', input);
    expect(status).toBe(201);
    expect(body).toEqual({
      success: true,
      subAccount: {
        idpOrgId: expect.stringMatching(/^org_[0-9a-f]{24}$/),
        ...input,
        plan: null,
        subscriptionStatus: 'none',
        billingMode: 'card',
        lineCount: 0,
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      workspaceApiKey: expect.stringMatching(/^svc_/),
    });
    const id = body.subAccount.idpOrgId;
    const client = apiClient(app.url, body.workspaceApiKey);
    expect((await client('GET', '/api/lines/by-user')).body).toEqual({ lines: [] });
    expect((await client('GET', '/api/team/members')).body.members).toMatchObject([
      { userId: agency.ownerId, role: 'org:admin', isOwner: true },
    ]);
    expect((await client('GET', '/api/analytics/conversations?date=2026-03-02')).body.timezone).toBe(
      'Europe/Berlin',
    );
    // The key is listed without itself, and can be revoked.
    const session = apiClient(
      app.url,
      await signIn(app, { userId: agency.ownerId, organizationId: id, role: 'org:admin' }),
    );
    const { keys } = (await session('GET', '/api/keys')).body;
    expect(keys).toHaveLength(1);
    expect(JSON.stringify(keys)).not.toContain(body.workspaceApiKey);
    await session('DELETE', `/api/keys/${keys[0]._id}`);
    expect((await client('GET', '/api/lines/by-user')).status).toBe(401);
  });

  it('are listed with their lines counted, and for their own agency only', async () => {
    const { idpOrgId } = (await api('POST', '/api/agency/subaccounts', { ...input, name: 'Counted' })).body
      .subAccount;
    await createLine(app, idpOrgId);
    await createLine(app, idpOrgId, 'email');
    await createLine(app, idpOrgId, 'sms', { provisioning_status: 'canceled' });
    const { status, body } = await api('GET', '/api/agency/subaccounts');
    expect(status).toBe(200);
    expect(body.subAccounts).toContainEqual(
      expect.objectContaining({ idpOrgId, name: 'Counted', lineCount: 2 }),
    );
    expect((await otherApi('GET', '/api/agency/subaccounts')).body).toEqual({
      success: true,
      subAccounts: [],
    });
  });

  it.each([
    ['no name', { legalName: 'Acme Ltd.', timezone: 'UTC' }],
    ['an empty name', { ...input, name: ' ' }],
    ['a zone that is not there', { ...input, timezone: 'Europe/Atlantis' }],
    ['an offset for a zone', { ...input, timezone: '+02:00' }],
    ['a number for a name', { ...input, name: 7 }],
  ])('are refused with %s', async (_, body) => {
    expect(await api('POST', '/api/agency/subaccounts', body)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR' },
    });
  });

  it('are made once for each Idempotency-Key, whose answer is kept sealed', async () => {
    const header = { 'idempotency-key': `make-${newId()}` };
    const make = (body: object = input) => api('POST', '/api/agency/subaccounts', body, header);
    const answers = await Promise.all([make(), make(), make()]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.workspaceApiKey)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(2);
    expect(await make({ ...input, name: 'Another' })).toMatchObject({
      status: 409,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
    // The same key of another agency is another key.
    expect(
      (await otherApi('POST', '/api/agency/subaccounts', input, header)).headers.get('idempotent-replayed'),
    ).toBeNull();
  });
});

describe('webhooks', () => {
  beforeAll(begin);
  const input = { url: 'http://127.0.0.1:9/hook', events: ['message.sent', 'message.reply'], name: 'CRM' };

  it('are registered for one client, listed, and removed', async () => {
    const [first, second] = [await clientOf(agency.id, 'First'), await clientOf(agency.id, 'Second')];
    const made = await api('POST', '/api/agency/webhooks', { workspaceId: first.id, ...input });
    expect(made).toMatchObject({
      status: 201,
      body: {
        success: true,
        webhooks: [
          {
            workspaceId: first.id,
            ...input,
            isActive: true,
            failureCount: 0,
            secret: expect.stringMatching(/^whsec_/),
          },
        ],
      },
    });
    const [webhook] = made.body.webhooks;
    const listed = (await api('GET', '/api/agency/webhooks')).body;
    expect(listed.webhooks).toMatchObject([{ _id: webhook._id, workspaceId: first.id }]);
    expect(JSON.stringify(listed)).not.toContain('whsec_');
    expect(listed.workspacesWithoutWebhook).toEqual([{ workspaceId: second.id, name: 'Second' }]);
    // The client sees it as its own.
    expect((await apiClient(app.url, first.key)('GET', `/api/webhooks/${webhook._id}`)).status).toBe(200);

    expect(await otherApi('DELETE', `/api/agency/webhooks/${webhook._id}`)).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    expect(await api('DELETE', `/api/agency/webhooks/${webhook._id}`)).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect((await api('DELETE', `/api/agency/webhooks/${webhook._id}`)).status).toBe(404);
    expect((await apiClient(app.url, first.key)('GET', `/api/webhooks/${webhook._id}`)).status).toBe(404);
  });

  it.each([{ workspaceId: 'all' }, { allWorkspaces: true }])(
    'are registered for all clients by %o, each with its own secret',
    async (all) => {
      const { body } = await api('POST', '/api/agency/webhooks', { ...all, ...input });
      expect(body.webhooks).toHaveLength(2);
      expect(new Set(body.webhooks.map(({ secret }: { secret: string }) => secret)).size).toBe(2);
      expect(new Set(body.webhooks.map(({ workspaceId }: { workspaceId: string }) => workspaceId)).size).toBe(
        2,
      );
      expect((await otherApi('GET', '/api/agency/webhooks')).body.webhooks).toEqual([]);
    },
  );

  it('are refused for nobody, for a stranger, for an unknown event and an unfit URL', async () => {
    const stranger = await clientOf(other.id);
    const refusal = async (body: object) => {
      const { status, body: answer } = await api('POST', '/api/agency/webhooks', { ...input, ...body });
      return [status, answer.code];
    };
    expect(await refusal({})).toEqual([400, 'VALIDATION_ERROR']);
    expect(await refusal({ workspaceId: stranger.id })).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    expect(await refusal({ workspaceId: 'org_1' })).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    expect(await refusal({ workspaceId: 'all', events: ['message.read'] })).toEqual([
      400,
      'VALIDATION_ERROR',
    ]);
    expect(await refusal({ workspaceId: 'all', url: 'http://169.254.169.254/' })).toEqual([
      400,
      'URL_NOT_ALLOWED',
    ]);
  });
});

describe('co-admins', () => {
  beforeAll(begin);
  const session = async (userId: string): Promise<ApiClient> =>
    apiClient(app.url, await signIn(app, { userId }));

  it('are added and removed by the signed-in owner, and act for the agency meanwhile', async () => {
    const userId = `user_${newId()}`;
    await insertRow(app, 'users', { id: userId, email: 'casey@example.test', name: 'Casey' });
    const [owner, casey] = [await session(agency.ownerId), await session(userId)];
    expect((await casey('GET', '/api/agency/subaccounts')).body.code).toBe('NOT_AN_AGENCY');

    const admin = { userId, email: 'casey@example.test', name: 'Casey', role: 'co_admin' };
    expect(await owner('POST', '/api/agency/admins', { email: 'CASEY@example.test' })).toMatchObject({
      status: 201,
      body: { admin },
    });
    expect((await owner('GET', '/api/agency/admins')).body).toEqual({ success: true, admins: [admin] });
    expect((await owner('GET', '/api/agency/members')).body.members).toMatchObject([
      { userId: agency.ownerId, role: 'owner' },
      admin,
    ]);
    expect((await casey('GET', '/api/agency/subaccounts')).status).toBe(200);
    expect(await casey('POST', '/api/agency/admins', { email: 'x@example.test' })).toMatchObject({
      status: 403,
      body: { code: 'AGENCY_OWNER_REQUIRED' },
    });
    expect((await casey('POST', '/api/agency/keys', { name: 'Mine' })).body.code).toBe(
      'AGENCY_OWNER_REQUIRED',
    );

    expect((await owner('DELETE', `/api/agency/admins/${userId}`)).status).toBe(200);
    expect((await casey('GET', '/api/agency/subaccounts')).body.code).toBe('NOT_AN_AGENCY');
    expect((await owner('DELETE', `/api/agency/admins/${agency.ownerId}`)).status).toBe(404);
    expect((await owner('POST', '/api/agency/admins', { email: 'nobody@example.test' })).status).toBe(404);
  });

  it('and cards are out of reach of any key', async () => {
    for (const path of ['/api/agency/billing', '/api/agency/members', '/api/agency/admins']) {
      expect(await api('GET', path)).toMatchObject({ status: 403, body: { code: 'SESSION_REQUIRED' } });
    }
    expect((await (await session(agency.ownerId))('GET', '/api/agency/billing')).body).toMatchObject({
      success: true,
      billingMode: 'card',
    });
  });
});
