import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newId, newUserId } from '#domain/base/ids.ts';
import { type HubSpotStandIn, startHubSpot } from '#simulator/hubspot.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createWorkspace, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { crmHelpers } from '#test/support/crms.ts';
import { writeIn } from '#test/support/inbound.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: OwnApp;
let hubspot: HubSpotStandIn;
let workspace: WorkspaceWithLine;
const { newCampaign } = campaignHelpers(() => ({ app, workspace, api: workspace.api }));
const { get, leadWith, isOptedOut, connectionOf, logOf, connectCrm, disconnectAll } = crmHelpers(
  () => workspace,
);

beforeAll(async () => {
  hubspot = await startHubSpot();
  app = await startTestApp({ environment: { HUBSPOT_API_URL: hubspot.url, CRM_POLL_SECONDS: '0.4' } });
});
afterAll(async () => {
  await app.stop();
  await hubspot.stop();
});

// All workspaces of these tests connect the same account, and each fault is for one of them.
afterEach(() => disconnectAll());

/** Connects the CRM to a new workspace, which takes over only what changes from now on. */
async function connect(fields: object = {}): Promise<string> {
  return connectCrm({ provider: 'hubspot', token: hubspot.token, ...fields });
}
async function connected(fields: object = {}): Promise<string> {
  workspace = await createWorkspaceWithLine(app);
  return connect(fields);
}
/** What the timeline of a contact says, without the channel's properties. */
const toldOf = (contactId: string) =>
  hubspot.timeline(contactId).map(({ properties }) => properties['hs_communication_body']);

describe('a connected HubSpot', () => {
  it('has its contacts become leads, which get a sequence and reply, and sees all of it', async () => {
    workspace = await createWorkspaceWithLine(app);
    const listId = (await workspace.api('POST', '/api/lists', { name: 'HubSpot' })).body.list._id;
    const campaignId = await newCampaign({
      steps: [{ message: 'Hi {{ firstName }}', delay: {} }],
      start: true,
    });
    const id = await connect({ listId, campaignId });
    expect((await connectionOf(id)).accountId).toBe(String(hubspot.portalId));
    const contact = phone();
    const owner = hubspot.addOwner(`${workspace.ownerId}@example.test`);
    const contactId = hubspot.addContact({ firstname: 'Ada', phone: contact, hubspot_owner_id: owner });
    await eventually(async () => (await sentTo(app, contact))[0]?.text === 'Hi Ada');
    const lead = await leadWith(contact);
    expect(lead).toMatchObject({
      listId,
      firstName: 'Ada',
      source: 'hubspot',
      contactOwnerEmail: `${workspace.ownerId}@example.test`,
    });
    await eventually(async () => toldOf(contactId).includes('We wrote: Hi Ada'));
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Tell me more' });
    await eventually(async () => toldOf(contactId).includes('The contact wrote: Tell me more'));
    expect(toldOf(contactId)).toHaveLength(2);
    const { messages } = (await get(`/api/messages?leadId=${lead._id}`)).body;
    expect(messages[0]).toMatchObject({
      crmAContactId: contactId,
      crmAPortalId: String(hubspot.portalId),
    });
    const synced = await logOf(id, 'synced');
    expect(
      synced.map(({ direction, subject }: Record<string, string>) => `${direction} ${subject}`).toSorted(),
    ).toEqual(['in contact', 'out message', 'out reply']);
    expect(
      synced.every(
        (entry: Record<string, string>) => entry['contactId'] === contactId && entry['leadId'] === lead._id,
      ),
    ).toBe(true);
  });

  it('takes over changes, and shows of what both sides have changed which was kept', async () => {
    const id = await connected();
    const [contact, other] = [phone(), phone()];
    const contactId = hubspot.addContact({ firstname: 'Ada', lastname: 'L', company: 'Old', phone: contact });
    const lead = await eventually(() => leadWith(contact));
    await workspace.api('PATCH', `/api/leads/${lead._id}`, { companyName: 'Ours', notes: 'VIP' });
    hubspot.change(contactId, { company: 'Theirs', lastname: 'Lovelace', mobilephone: other });
    await eventually(async () => (await leadWith(contact)).lastName === 'Lovelace');
    expect(await leadWith(other)).toMatchObject({
      _id: lead._id,
      companyName: 'Theirs',
      notes: 'VIP',
      phones: [contact, other],
    });
    expect(await logOf(id, 'conflict')).toEqual([
      expect.objectContaining({ contactId, leadId: lead._id, reason: 'companyName_kept_crm' }),
    ]);
    // What campaigns have not sent yet does not go to a number that was corrected there, but to the first that is left.
    const steps = [{ message: 'Later', delay: { days: 2 } }];
    const campaign = { name: 'Spring', steps, start: true };
    const campaignId = (await workspace.api('POST', '/api/campaigns', campaign)).body.campaign._id;
    await workspace.api('POST', `/api/campaigns/${campaignId}/leads`, { leadId: lead._id });
    const corrected = phone();
    hubspot.change(contactId, { phone: corrected });
    await eventually(() => leadWith(corrected));
    const { messages } = (await workspace.api('GET', `/api/messages?campaignId=${campaignId}`)).body;
    expect(messages).toMatchObject([{ status: 'scheduled', recipientPhone: other }]);
  });

  it('opts out here who opted out there, and there who opted out here', async () => {
    const id = await connected();
    const [first, second, mail] = [phone(), phone(), `${newId()}@example.test`];
    const away = hubspot.addContact({ phone: first });
    const asking = hubspot.addContact({ phone: second, email: mail });
    await eventually(() => leadWith(first));
    await eventually(() => leadWith(second));
    hubspot.change(away, { linepace_opt_out: 'true' });
    await writeIn(app, { lineId: workspace.lineId, from: second, text: 'STOP' });
    await workspace.api('POST', '/api/opt-outs', { address: mail });
    await eventually(() => isOptedOut(first));
    await eventually(async () => hubspot.contact(asking)['linepace_opt_out'] === 'true');
    await eventually(async () => hubspot.unsubscribed.has(mail));
    // Somebody clears it there: only the contact itself can opt in.
    hubspot.change(away, { linepace_opt_out: 'false' });
    await eventually(async () => (await logOf(id, 'conflict')).length > 0);
    expect(await isOptedOut(first)).toBe(true);
    expect((await logOf(id, 'conflict'))[0]).toMatchObject({ contactId: away, reason: 'opt_out_kept' });
    // The contact opts in again by writing.
    await writeIn(app, { lineId: workspace.lineId, from: second, text: 'START' });
    await eventually(async () => hubspot.contact(asking)['linepace_opt_out'] === 'false');
    expect(await isOptedOut(second)).toBe(false);
  });

  it('takes over what it has already, and says of whom nobody can be a lead', async () => {
    workspace = await createWorkspaceWithLine(app);
    const [contact, nobody] = [phone(), hubspot.addContact({ firstname: 'Nobody' })];
    hubspot.addContact({ phone: contact });
    const id = await connect({ importExisting: true });
    await eventually(() => leadWith(contact));
    await eventually(async () =>
      (await logOf(id, 'refused')).some(
        ({ contactId, reason }: Record<string, string>) => contactId === nobody && reason === 'no_address',
      ),
    );
  });

  it('is left alone as long as it asks', async () => {
    const id = await connected();
    const contact = phone();
    await eventually(async () => (await connectionOf(id)).syncedAt !== null);
    const limit = {
      message: 'limit',
      category: 'RATE_LIMITS',
      policyName: 'TEN_SECONDLY_ROLLING',
      status: 'error',
    };
    const from = hubspot.requests.length;
    hubspot.fault('/search', { status: 429, body: limit, headers: { 'retry-after': '2' } });
    hubspot.addContact({ phone: contact });
    await eventually(async () => (await connectionOf(id)).pausedUntil !== null);
    await eventually(() => leadWith(contact));
    const after = hubspot.requests.slice(from);
    const refused = after.findIndex(({ status }) => status === 429);
    const [limited, next] = after.slice(refused).filter(({ path }) => path.endsWith('/search'));
    expect((next?.at ?? 0) - (limited?.at ?? 0)).toBeGreaterThanOrEqual(1900);
    await eventually(async () => (await connectionOf(id)).error === null);
  });

  it('is broken while its token is refused, and goes on with another', async () => {
    const id = await connected();
    const [contact, later] = [phone(), phone()];
    const contactId = hubspot.addContact({ phone: contact });
    await eventually(() => leadWith(contact));
    hubspot.setRevoked(true);
    try {
      await eventually(async () => (await connectionOf(id)).status === 'broken');
      expect((await connectionOf(id)).error).toBe('HubSpot refuses the token: EXPIRED_AUTHENTICATION');
      const { items } = (await get('/api/attention')).body;
      expect(items).toContainEqual(expect.objectContaining({ kind: 'broken_crms', count: 1 }));
      const refused = await workspace.api('POST', `/api/crm-connections/${id}/check`);
      expect([refused.status, refused.body.code]).toEqual([400, 'VALIDATION_ERROR']);
      await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Hello?' });
      await eventually(async () => (await connectionOf(id)).waiting === 1);
      hubspot.addContact({ phone: later });
    } finally {
      hubspot.setRevoked(false);
    }
    const checked = await workspace.api('POST', `/api/crm-connections/${id}/check`);
    expect(checked.body).toMatchObject({ success: true, status: 'active', error: null });
    await eventually(async () => toldOf(contactId).includes('The contact wrote: Hello?'));
    await eventually(() => leadWith(later));
  });

  it('is refused without a scope, with another account, or for what does not exist', async () => {
    workspace = await createWorkspaceWithLine(app);
    const input = { provider: 'hubspot', token: 'pat-eu1-of-somebody-else' };
    const unknown = await workspace.api('POST', '/api/crm-connections', input);
    expect([unknown.status, unknown.body.error]).toEqual([400, expect.stringContaining('refuses the token')]);
    const broken = { ...input, token: 'pat-eu1-of\nsomebody-else' };
    expect(await workspace.api('POST', '/api/crm-connections', broken)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR', issues: [{ path: 'token' }] },
    });
    const list = { ...input, token: hubspot.token, listId: '0123456789abcdef01234567' };
    expect((await workspace.api('POST', '/api/crm-connections', list)).status).toBe(400);
    hubspot.fault('/crm/v3/owners', {
      status: 403,
      body: {
        status: 'error',
        message: 'no',
        category: 'MISSING_SCOPES',
        context: { requiredGranularScopes: ['crm.objects.owners.read'] },
      },
    });
    const narrow = await workspace.api('POST', '/api/crm-connections', { ...input, token: hubspot.token });
    expect([narrow.status, narrow.body.error]).toEqual([
      400,
      expect.stringContaining('crm.objects.owners.read'),
    ]);
    expect((await get('/api/crm-connections')).body.crmConnections).toEqual([]);
  });

  it('is refused with what HubSpot says and what helps if it takes no further unique property', async () => {
    workspace = await createWorkspaceWithLine(app);
    const absent = { status: 404, body: { status: 'error', message: 'none', category: 'OBJECT_NOT_FOUND' } };
    hubspot.fault(
      '/crm/v3/properties/contacts',
      absent,
      { status: 409, body: { status: 'error', message: 'exists', category: 'OBJECT_ALREADY_EXISTS' } },
      absent,
      {
        status: 400,
        body: { status: 'error', message: 'Too many unique properties', category: 'VALIDATION_ERROR' },
      },
    );
    const { status, body } = await workspace.api('POST', '/api/crm-connections', {
      provider: 'hubspot',
      token: hubspot.token,
    });
    expect([status, body.error]).toEqual([
      400,
      expect.stringMatching(/linepace_made_for.*Too many unique properties.*delete one in HubSpot/),
    ]);
    expect((await get('/api/crm-connections')).body.crmConnections).toEqual([]);
  });

  it('is connected by nobody whom it would outlive, or who reads less than it is told', async () => {
    workspace = await createWorkspaceWithLine(app);
    const { id: organizationId, ownerId: userId } = workspace;
    const admin = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
    const member = await sessionClient(app, { userId: newUserId(), organizationId, role: 'org:member' });
    const keyWith = async (limits: object) =>
      apiClient(app.url, (await admin('POST', '/api/keys', { name: 'Limited', ...limits })).body.key);
    const input = { provider: 'hubspot', token: hubspot.token, importExisting: false };
    const codeFor = async (api: ApiClient) => (await api('POST', '/api/crm-connections', input)).body.code;
    for (const limits of [
      { scopes: ['send'] },
      { scopes: ['read', 'send', 'draft'] },
      { scopes: ['read', 'manage'] },
      { expiresInDays: 1 },
      { allowedIps: ['127.0.0.0/8', '::1'] },
    ])
      expect(await codeFor(await keyWith(limits)), JSON.stringify(limits)).toBe('INSUFFICIENT_SCOPE');
    expect(await codeFor(member)).toBe('ADMIN_REQUIRED');
    expect((await get('/api/crm-connections')).body.crmConnections).toEqual([]);
    expect((await admin('POST', '/api/crm-connections', input)).status).toBe(201);
  });

  it('ends with its token when it is disconnected, and other workspaces see nothing of it', async () => {
    const id = await connected();
    const contact = phone();
    hubspot.addContact({ phone: contact });
    await eventually(() => leadWith(contact));
    const other = await createWorkspace(app);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/log'],
      ['POST', '/check'],
      ['DELETE', ''],
    ] as const)
      expect((await other.api(method, `/api/crm-connections/${id}${path}`)).status).toBe(404);
    expect((await workspace.api('DELETE', `/api/crm-connections/${id}`)).status).toBe(200);
    expect((await connectionOf(id)).code).toBe('NOT_FOUND');
    const { id: organizationId, ownerId: userId } = workspace;
    const owner = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
    const { entries } = (await owner('GET', '/api/audit-log')).body;
    const actions = entries.map(({ action }: Record<string, string>) => action);
    expect(actions).toEqual(expect.arrayContaining(['crm_connection.created', 'crm_connection.deleted']));
    expect(JSON.stringify(entries)).not.toContain(hubspot.token);
    expect(await leadWith(contact)).toBeDefined();
    // Whoever connects again finds the leads that they are.
    const again = await connect({ importExisting: true });
    await eventually(async () => (await connectionOf(again)).syncedAt !== null);
    const { leads } = (await get(`/api/leads?search=${encodeURIComponent(contact)}`)).body;
    expect(leads).toHaveLength(1);
  });

  it('does not bring back an erased contact', async () => {
    const id = await connected();
    const [contact, next] = [phone(), phone()];
    const contactId = hubspot.addContact({ firstname: 'Ada', phone: contact });
    const lead = await eventually(() => leadWith(contact));
    expect((await workspace.api('DELETE', `/api/leads/${lead._id}?erase=true`)).status).toBe(202);
    hubspot.change(contactId, { firstname: 'Ada again' });
    hubspot.addContact({ phone: next });
    await eventually(() => leadWith(next));
    expect(await leadWith(contact)).toBeUndefined();
    expect(
      (await logOf(id, 'synced')).some((entry: Record<string, string>) => entry['leadId'] === lead._id),
    ).toBe(true);
  });

  it('makes one contact of a person without an email, though the response to it is lost', async () => {
    const id = await connected({ createContacts: true });
    const contact = phone();
    hubspot.loseResponse('POST /crm/v3/objects/contacts');
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Hello' });
    await eventually(async () => (await connectionOf(id)).error !== null);
    expect((await workspace.api('POST', `/api/crm-connections/${id}/check`)).status).toBe(200);
    const contactId = await eventually(async () => hubspot.contactWith(contact));
    await eventually(async () => toldOf(contactId).includes('The contact wrote: Hello'));
    expect(hubspot.contactsWith(contact)).toEqual([contactId]);
  });

  it('is not told of a contact that it has deleted', async () => {
    const id = await connected();
    const contact = phone();
    const contactId = hubspot.addContact({ phone: contact });
    await eventually(() => leadWith(contact));
    hubspot.archive(contactId);
    await writeIn(app, { lineId: workspace.lineId, from: contact, text: 'Anybody?' });
    await eventually(async () => (await logOf(id, 'refused')).length === 1);
    expect((await logOf(id, 'refused'))[0]).toMatchObject({ subject: 'reply', reason: 'contact_not_found' });
  });
});
