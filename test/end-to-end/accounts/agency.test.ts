import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, type ApiResponse, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { firstMailTo, mailsTo } from '#test/support/mails.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';

let app: TestApp;
let agency: { id: string; key: string; ownerId: string };
let other: { id: string; key: string; ownerId: string };
let api: ApiClient;
let otherApi: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
});
// Each group has its own agencies, so that lists contain only what the group creates.
const createAgencies = async (): Promise<void> => {
  [agency, other] = await Promise.all([createAgency(app), createAgency(app)]);
  [api, otherApi] = [apiClient(app.url, agency.key), apiClient(app.url, other.key)];
};
const clientOf = (agencyId: string, name = 'Client') => createWorkspace(app, { agency_id: agencyId, name });

describe('subaccounts', () => {
  beforeAll(createAgencies);
  const input = { name: 'Acme', legalName: 'Acme Ltd.', timezone: 'Europe/Berlin' };

  it('are created with a working key and the agency owner as their owner', async () => {
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
    // The key is listed without its secret and can be revoked.
    const session = await sessionClient(app, {
      userId: agency.ownerId,
      organizationId: id,
      role: 'org:admin',
    });
    const { keys } = (await session('GET', '/api/keys')).body;
    expect(keys).toHaveLength(1);
    expect(JSON.stringify(keys)).not.toContain(body.workspaceApiKey);
    await session('DELETE', `/api/keys/${keys[0]._id}`);
    expect((await client('GET', '/api/lines/by-user')).status).toBe(401);
  });

  it('are listed with their line counts, for their own agency only', async () => {
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
      nextCursor: null,
    });
  });

  it.each([
    ['no name', { legalName: 'Acme Ltd.', timezone: 'UTC' }],
    ['an empty name', { ...input, name: ' ' }],
    ['an unknown zone', { ...input, timezone: 'Europe/Atlantis' }],
    ['an offset instead of a zone', { ...input, timezone: '+02:00' }],
    ['a number as the name', { ...input, name: 7 }],
  ])('are refused with %s', async (_, body) => {
    expect(await api('POST', '/api/agency/subaccounts', body)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR' },
    });
  });

  it('are created once per Idempotency-Key, which returns the same workspace key', async () => {
    const header = { 'idempotency-key': `make-${newId()}` };
    const create = (body: object = input) => api('POST', '/api/agency/subaccounts', body, header);
    const responses = await Promise.all([create(), create(), create()]);
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(responses.map(({ body }) => body.workspaceApiKey)).size).toBe(1);
    expect(responses.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(2);
    expect(await create({ ...input, name: 'Another' })).toMatchObject({
      status: 409,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
    // Another agency may use the same key.
    expect(
      (await otherApi('POST', '/api/agency/subaccounts', input, header)).headers.get('idempotent-replayed'),
    ).toBeNull();
  });
});

describe('lists over all clients', () => {
  it('come in pages of clients, newest first', async () => {
    const { id, api: call } = await createAgency(app);
    const clients = [];
    for (const name of ['a', 'b', 'c']) clients.push((await clientOf(id, name)).id);
    clients.sort();
    clients.reverse();
    const url = 'http://127.0.0.1:9/';
    const webhook = { workspaceId: clients[2], url, events: ['message.sent'] };
    expect((await call('POST', '/api/agency/webhooks', webhook)).status).toBe(201);

    const idsOf = {
      subaccounts: ({ subAccounts }: ApiResponse['body']) =>
        subAccounts.map(({ idpOrgId }: { idpOrgId: string }) => idpOrgId),
      'email-preferences': ({ workspaces }: ApiResponse['body']) =>
        workspaces.map(({ workspaceId }: { workspaceId: string }) => workspaceId),
      webhooks: ({ webhooks, workspacesWithoutWebhook }: ApiResponse['body']) =>
        [...workspacesWithoutWebhook, ...webhooks].map(
          ({ workspaceId }: { workspaceId: string }) => workspaceId,
        ),
    };
    for (const [list, ids] of Object.entries(idsOf)) {
      const path = `/api/agency/${list}`;
      const first = (await call('GET', `${path}?limit=2`)).body;
      expect([ids(first), first.nextCursor], list).toEqual([clients.slice(0, 2), clients[1]]);
      const second = (await call('GET', `${path}?limit=2&cursor=${first.nextCursor}`)).body;
      expect([ids(second), second.nextCursor], list).toEqual([[clients[2]], null]);
      const all = (await call('GET', path)).body;
      expect([ids(all), all.nextCursor], list).toEqual([clients, null]);
    }
  });
});

describe('a client whose subscription is past due', () => {
  it("takes no changes of its agency's", async () => {
    const { id, api: call, ownerId } = await createAgency(app);
    const [active, pastDue] = [
      await clientOf(id),
      await createWorkspace(app, { agency_id: id, subscription_status: 'past_due' }),
    ];
    const webhook = { url: 'http://127.0.0.1:9/', events: ['message.sent'] };
    const webhookId = newId();
    await insertRow(app, 'webhooks', {
      workspace_id: pastDue.id,
      id: webhookId,
      name: '',
      url: webhook.url,
      events: webhook.events,
      secret_sealed: 'sealed',
    });
    const [own, other] = [await createLine(app, pastDue.id), await createLine(app, active.id)];
    const session = await sessionClient(app, { userId: ownerId });
    const refused = {
      status: 402,
      body: { error: 'READ_ONLY', code: 'READ_ONLY', reason: 'past_due', workspaceId: pastDue.id },
    };
    for (const as of [call, session])
      for (const [method, path, body] of [
        ['POST', '/api/agency/webhooks', { ...webhook, workspaceId: pastDue.id }],
        ['POST', '/api/agency/webhooks', { ...webhook, allWorkspaces: true }],
        ['DELETE', `/api/agency/webhooks/${webhookId}`],
        ['POST', '/api/agency/email-preferences', { enabled: false }],
        ['POST', '/api/agency/lines', { action: 'transfer', lineId: own, targetWorkspaceId: active.id }],
        ['POST', '/api/agency/lines', { action: 'transfer', lineId: other, targetWorkspaceId: pastDue.id }],
      ] as const)
        expect(await as(method, path, body), `${method} ${path}`).toMatchObject(refused);
    const deletion = { action: 'delete', lineId: own };
    expect(await session('POST', '/api/agency/lines', deletion)).toMatchObject(refused);
    const { webhooks, workspacesWithoutWebhook } = (await call('GET', '/api/agency/webhooks')).body;
    expect([webhooks.length, workspacesWithoutWebhook.length]).toEqual([1, 1]);
    // The others are changed as before.
    expect((await call('POST', '/api/agency/webhooks', { ...webhook, workspaceId: active.id })).status).toBe(
      201,
    );
  });
});

describe("an agency's webhooks", () => {
  beforeAll(createAgencies);
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
    // The client can read it with its own key.
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

  it('are listed newest first, whichever their clients', async () => {
    const made: string[] = [];
    const { id, api: call } = await createAgency(app);
    const [first, second] = [await clientOf(id), await clientOf(id)];
    for (const { id: workspaceId } of [first, second, first]) {
      const { body } = await call('POST', '/api/agency/webhooks', { ...input, workspaceId });
      made.unshift(body.webhooks[0]._id);
    }
    const { webhooks } = (await call('GET', '/api/agency/webhooks')).body;
    expect(webhooks.map(({ _id }: { _id: string }) => _id)).toEqual(made);
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

  it("are refused without a workspace, for another agency's client, an unknown event or a forbidden URL", async () => {
    const stranger = await clientOf(other.id);
    const refusal = async (body: object) => {
      const { status, body: response } = await api('POST', '/api/agency/webhooks', { ...input, ...body });
      return [status, response.code];
    };
    expect(await refusal({})).toEqual([400, 'VALIDATION_ERROR']);
    expect(await refusal({ workspaceId: stranger.id })).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    expect(await refusal({ workspaceId: 'org_1' })).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    for (const workspaceId of [stranger.id, (await clientOf(agency.id)).id])
      expect(await refusal({ workspaceId, allWorkspaces: true })).toEqual([400, 'VALIDATION_ERROR']);
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
  beforeAll(createAgencies);
  const session = async (userId: string): Promise<ApiClient> => await sessionClient(app, { userId });

  const person = async (name: string): Promise<{ userId: string; email: string; as: ApiClient }> => {
    const userId = `user_${newId()}`;
    const email = `${name.toLowerCase()}.${newId()}@example.test`;
    await insertRow(app, 'users', { id: userId, email, name });
    return { userId, email, as: await session(userId) };
  };
  const linkTo = async (email: string): Promise<string> => {
    const mail = await firstMailTo(app, email);
    return /https?:\/\/[^/]+(\/invitations\/\S+)/.exec(mail.text)?.[1] ?? '';
  };
  const codeOf = async (response: Promise<ApiResponse>) => {
    const { status, body } = await response;
    return [status, body.code];
  };

  it('are invited by email and act for the agency from accepting while signed in until they are removed', async () => {
    const [owner, casey, stranger] = [
      await session(agency.ownerId),
      await person('Casey'),
      await person('Eve'),
    ];
    const invited = await owner('POST', '/api/agency/admins', { email: casey.email.toUpperCase() });
    expect([invited.status, invited.body]).toEqual([202, { success: true }]);
    const link = await linkTo(casey.email);
    expect((await owner('GET', '/api/agency/invitations')).body.invitations).toMatchObject([
      { email: casey.email },
    ]);
    expect(await codeOf(casey.as('GET', '/api/agency/subaccounts'))).toEqual([403, 'NOT_AN_AGENCY']);

    const nobody = apiClient(app.url, '');
    expect((await nobody('GET', link)).status).toBe(200);
    expect((await nobody('POST', link)).status).toBe(401);
    expect((await apiClient(app.url, agency.key)('POST', link)).status).toBe(401);
    expect((await stranger.as('POST', link)).status).toBe(403);
    expect((await owner('GET', '/api/agency/admins')).body.admins).toEqual([]);
    expect(await codeOf(stranger.as('GET', '/api/agency/subaccounts'))).toEqual([403, 'NOT_AN_AGENCY']);

    expect((await casey.as('POST', link)).status).toBe(200);
    expect((await casey.as('POST', link)).status).toBe(200);
    const joined = await owner('GET', '/api/agency/audit-log?action=agency_admin.joined');
    expect(joined.body.entries).toMatchObject([
      { actor: { type: 'user', id: casey.userId }, target: { type: 'agency_admin', id: casey.userId } },
    ]);
    const admin = { userId: casey.userId, email: casey.email, name: 'Casey', role: 'co_admin' };
    expect((await owner('GET', '/api/agency/admins')).body).toEqual({ success: true, admins: [admin] });
    expect((await owner('GET', '/api/agency/members')).body.members).toMatchObject([
      { userId: agency.ownerId, role: 'owner' },
      admin,
    ]);
    expect((await owner('GET', '/api/agency/invitations')).body.invitations).toEqual([]);
    expect((await casey.as('GET', '/api/agency/subaccounts')).status).toBe(200);
    expect(await codeOf(casey.as('POST', '/api/agency/admins', { email: 'x@example.test' }))).toEqual([
      403,
      'AGENCY_OWNER_REQUIRED',
    ]);
    expect(await codeOf(casey.as('POST', '/api/agency/keys', { name: 'Mine' }))).toEqual([
      403,
      'AGENCY_OWNER_REQUIRED',
    ]);

    expect((await owner('DELETE', `/api/agency/admins/${casey.userId}`)).status).toBe(200);
    expect(await codeOf(casey.as('GET', '/api/agency/subaccounts'))).toEqual([403, 'NOT_AN_AGENCY']);
    await casey.as('POST', link);
    expect(await codeOf(casey.as('GET', '/api/agency/subaccounts'))).toEqual([403, 'NOT_AN_AGENCY']);
    expect((await owner('DELETE', `/api/agency/admins/${agency.ownerId}`)).status).toBe(404);
  });

  it('are invited with the same response and email whether or not they have an account', async () => {
    const owner = await session(agency.ownerId);
    const email = `nobody.${newId()}@example.test`;
    const invited = await owner('POST', '/api/agency/admins', { email });
    expect([invited.status, invited.body]).toEqual([202, { success: true }]);
    const link = await linkTo(email);
    const casey = await person('Casey');
    expect((await casey.as('POST', link)).status).toBe(403);
    // A new user who opens the emailed link gets that address.
    const newcomer = await session(`user_${newId()}`);
    expect((await newcomer('POST', link)).status).toBe(200);
    expect((await newcomer('GET', '/api/agency/subaccounts')).status).toBe(200);
    expect(await codeOf(owner('POST', '/api/agency/admins', { email: 'nobody' }))).toEqual([
      400,
      'VALIDATION_ERROR',
    ]);
  });

  it('can accept with a form in the browser', async () => {
    const casey = await person('Casey');
    await (
      await session(agency.ownerId)
    )('POST', '/api/agency/admins', { email: casey.email });
    const accept = await fetch(app.url + (await linkTo(casey.email)), {
      method: 'POST',
      body: new URLSearchParams({ sessionToken: await signIn(app, { userId: casey.userId }) }),
    });
    expect(accept.status).toBe(200);
    expect((await casey.as('GET', '/api/agency/subaccounts')).status).toBe(200);
  });

  it('cannot accept an invitation that was withdrawn', async () => {
    const [owner, casey] = [await session(agency.ownerId), await person('Casey')];
    await owner('POST', '/api/agency/admins', { email: casey.email });
    const link = await linkTo(casey.email);
    const [open] = (await owner('GET', '/api/agency/invitations')).body.invitations;
    expect((await owner('DELETE', `/api/agency/invitations/${open._id}`)).status).toBe(200);
    expect((await casey.as('POST', link)).status).toBe(404);
    expect(await codeOf(casey.as('GET', '/api/agency/subaccounts'))).toEqual([403, 'NOT_AN_AGENCY']);
  });

  it('get one invitation email an hour, and an agency may send twenty invitations an hour', async () => {
    const inviter = await createAgency(app);
    const owner = await session(inviter.ownerId);
    const email = `often.${newId()}@example.test`;
    for (let time = 0; time < 3; time += 1)
      expect((await owner('POST', '/api/agency/admins', { email })).status).toBe(202);
    for (let other = 3; other < 20; other += 1)
      expect((await owner('POST', '/api/agency/admins', { email: `${other}.${email}` })).status).toBe(202);
    const refused = await owner('POST', '/api/agency/admins', { email: `last.${email}` });
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    // Several emails are sent at the same time.
    for (const to of [email, `19.${email}`])
      await eventually(async () => (await mailsTo(app, to)).length === 1);
    expect(await mailsTo(app, email)).toHaveLength(1);
    expect(await mailsTo(app, `last.${email}`)).toEqual([]);
    expect((await (await session(agency.ownerId))('POST', '/api/agency/admins', { email })).status).toBe(202);
  });

  it('choose among several agencies by X-Agency-Id, and act for their own by default', async () => {
    const [mine, first, second, foreign] = await Promise.all([1, 2, 3, 4].map(() => createAgency(app)));
    const join = async (to: { ownerId: string }, who: { email: string; as: ApiClient }) => {
      await (
        await session(to.ownerId)
      )('POST', '/api/agency/admins', { email: who.email });
      await eventually(async () => (await mailsTo(app, who.email)).length > 0);
      for (const { text } of await mailsTo(app, who.email)) {
        const link = /https?:\/\/[^/]+(\/invitations\/\S+)/.exec(text)?.[1] ?? '';
        expect((await who.as('POST', link)).status).toBe(200);
      }
    };
    const ownerOfMine = {
      email: `${mine!.ownerId}@example.test`,
      as: await session(mine!.ownerId),
    };
    await join(first!, ownerOfMine);
    const create = (as: ApiClient, name: string, agencyId?: string) =>
      as(
        'POST',
        '/api/agency/subaccounts',
        { name, timezone: 'UTC' },
        agencyId === undefined ? {} : { 'x-agency-id': agencyId },
      );
    const clientsOf = async ({ key }: { key: string }): Promise<string[]> =>
      (await apiClient(app.url, key)('GET', '/api/agency/subaccounts')).body.subAccounts.map(
        ({ name }: { name: string }) => name,
      );
    await create(ownerOfMine.as, 'by default');
    await create(ownerOfMine.as, 'by name', first!.id);
    expect(await clientsOf(mine!)).toEqual(['by default']);
    expect(await clientsOf(first!)).toEqual(['by name']);
    // The rights are those in the agency of the header.
    expect(
      await codeOf(ownerOfMine.as('GET', '/api/agency/admins', undefined, { 'x-agency-id': first!.id })),
    ).toEqual([403, 'AGENCY_OWNER_REQUIRED']);
    for (const id of [foreign!.id, 'agency_000000000000000000000000', 'nonsense']) {
      const response = await create(ownerOfMine.as, 'nowhere', id);
      expect([response.status, response.body.code]).toEqual([404, 'AGENCY_NOT_FOUND']);
      expect(response.body.error).toContain('X-Agency-Id');
    }
    expect(
      await codeOf(
        apiClient(app.url, mine!.key)('GET', '/api/agency/lines', undefined, { 'x-agency-id': first!.id }),
      ),
    ).toEqual([404, 'AGENCY_NOT_FOUND']);

    const casey = await person('Casey');
    await join(second!, casey);
    await join(first!, casey);
    await create(casey.as, 'in the oldest membership');
    expect(await clientsOf(second!)).toEqual(['in the oldest membership']);
  });

  it('create no key that has expired', async () => {
    const owner = await session(agency.ownerId);
    const expired = await owner('POST', '/api/agency/keys', {
      name: 'CRM',
      expiresAt: '2001-01-01T00:00:00Z',
    });
    expect([expired.status, expired.body.issues?.[0]?.path]).toEqual([400, 'expiresAt']);
  });

  it('cannot be managed with a key, and neither can billing', async () => {
    for (const path of ['/api/agency/billing', '/api/agency/members', '/api/agency/admins']) {
      expect(await api('GET', path)).toMatchObject({ status: 403, body: { code: 'SESSION_REQUIRED' } });
    }
    expect((await (await session(agency.ownerId))('GET', '/api/agency/billing')).body).toMatchObject({
      success: true,
      billingMode: 'card',
    });
  });
});
