import { expect } from 'vitest';
import { hashConsoleCode } from '#domain/accounts/console-code.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import type { Endpoint } from '#test/support/endpoint.ts';
import { crmTokenContext } from '#providers/crms/token.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { createKey, insertRow, type TestAgency } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { newPerson, plantContact, type Planted } from '#test/support/planted-contact.ts';
import { signIn } from '#test/support/sessions.ts';
import { plantSession } from '#test/support/user-sessions.ts';

/** A workspace of an agency with a contact that has touched everything, and one of each resource that has an id. */
export interface World extends Planted {
  agencyId: string;
  /** What each kind of credential sends as `Authorization`. */
  credentials: Record<CredentialKind, string>;
  /** The id for each path parameter, by the path before it. */
  ids: Record<string, string>;
  /** The value for each field of a query or a body that names something; `id` means what the path says. */
  fields: Record<string, string>;
}

/** Credentials that act for a workspace of their own. The console's session is that of an admin. */
const OF_WORKSPACE = ['workspace key', "console's session", "member's session"] as const;
/** Credentials that reach all workspaces of their agency. */
const OF_AGENCY = ['agency key', "agency owner's session", "co-admin's session"] as const;
/** What a tenant holds that proves something else than who calls. */
const OF_OTHERS = ['webhook secret'] as const;
export type CredentialKind = (typeof OF_WORKSPACE | typeof OF_AGENCY | typeof OF_OTHERS)[number];
export const CREDENTIALS: readonly CredentialKind[] = [...OF_WORKSPACE, ...OF_AGENCY, ...OF_OTHERS];

export async function buildWorld(app: TestApp, receiver: Endpoint, agency: TestAgency): Promise<World> {
  const { id: agencyId, ownerId: agencyOwner, key: agencyKey } = agency;
  const planted = await plantContact(app, receiver, newPerson(), { agency_id: agencyId });
  const { workspace, api, person, lineId } = planted;
  const create = async (method: string, path: string, body: unknown, by: ApiClient = api) => {
    const response = await by(method, path, body);
    expect(response.status, `${method} ${path}: ${JSON.stringify(response.body)}`).toBeLessThan(300);
    return response.body;
  };
  const user = async (): Promise<string> => {
    const id = `user_${newId()}`;
    await insertRow(app, 'users', { id, email: `${id}@example.test` });
    return id;
  };
  const session = async (userId: string, role: string | null): Promise<string> =>
    signIn(app, { userId, organizationId: role === null ? null : workspace.id, role });
  const [coAdmin, member] = [await user(), await user()];
  await insertRow(app, 'agency_members', { agency_id: agencyId, user_id: coAdmin, role: 'co_admin' });
  await insertRow(app, 'workspace_members', {
    workspace_id: workspace.id,
    user_id: member,
    role: 'org:member',
  });
  const owner = await session(agencyOwner, null);
  const code = newId();
  await insertRow(app, 'console_codes', {
    hash: hashConsoleCode(code),
    workspace_id: workspace.id,
    user_id: workspace.ownerId,
    expires_at: new Date(Date.now() + 60_000),
  });
  const admin = (await create('POST', '/api/console/session', { code })).token;

  const byAdmin = apiClient(app.url, admin);
  const passkey = newId();
  await insertRow(app, 'passkeys', {
    id: passkey,
    user_id: workspace.ownerId,
    credential_id: passkey,
    public_key: Buffer.from('key'),
    counter: 0,
    transports: [],
    name: 'Laptop',
  });
  const suspect = phone();
  await writeIn(app, { lineId, from: suspect, text: 'Sorry, you have the wrong number' });
  const suspicion = await eventually(
    async () => (await api('GET', '/api/opt-outs/suspected')).body.suspicions[0]?._id,
  );
  const inBulk = async (path: string, body: object) => (await create('POST', path, body)).undo.id;
  const bulkConversations = await inBulk('/api/conversations/bulk', {
    addresses: [person.phone],
    change: { addTags: ['bulk'] },
  });
  const bulkLeads = await inBulk('/api/leads/bulk', {
    leadIds: [planted.leadId],
    change: { customFields: { bulk: 'yes' } },
  });
  // What is searched by name has a name that nothing of another tenant has.
  const named = `For ${person.phone}`;
  expect((await api('PATCH', `/api/lists/${planted.listId}`, { name: named })).status).toBe(200);
  const { lines } = (await api('GET', '/api/lines/by-user')).body;
  const line = lines.find(({ _id }: { _id: string }) => _id === lineId);
  const draft = { name: named, steps: [{ message: 'Hi', delay: {} }] };
  const draftCampaign = (await create('POST', '/api/campaigns', draft)).campaign._id;
  const pool = (await create('POST', '/api/pools', { name: 'Pool', lines: [{ lineId }] })).pool._id;
  const tagged = { name: 'Tagged', when: [{ field: 'tag', op: 'exists' }] };
  const segment = (await create('POST', '/api/segments', tagged)).segment._id;
  const snippet = (await create('POST', '/api/snippets', { name: named, text: 'We open at nine' })).snippet
    ._id;
  const greeting = { name: named, on: 'reply', when: tagged.when, do: [{ close: true }] };
  const rule = (await create('POST', '/api/rules', greeting, byAdmin)).rule._id;
  const vips = { name: 'VIPs', view: 'open', search: 'tag:vip', shared: true };
  const savedFilter = (await create('POST', '/api/saved-filters', vips)).savedFilter._id;
  const join = { name: 'Poster', lineId, text: 'Join', consent: 'I want offers' };
  const optInLink = (await create('POST', '/api/opt-in-links', join))._id;
  const crmConnection = newId();
  await insertRow(app, 'crm_connections', {
    workspace_id: workspace.id,
    id: crmConnection,
    provider: 'hubspot',
    account_id: '1',
    token_sealed: createSecretBox(app.config.encryptionKeys).seal(
      'pat-eu1-of-nobody',
      crmTokenContext(workspace.id, crmConnection),
    ),
    read_until: new Date(),
  });
  const group = newId();
  await insertRow(app, 'group_chats', {
    workspace_id: workspace.id,
    id: group,
    line_id: lineId,
    carrier_group_id: `simulated;+;${group}`,
    participants: [phone(), phone()],
  });
  const chatConnection = newId();
  await insertRow(app, 'chat_connections', {
    workspace_id: workspace.id,
    id: chatConnection,
    provider: 'telegram',
    scope: 'workspace',
    user_id: workspace.ownerId,
    status: 'linked',
    chat_id: chatConnection,
    external_user_id: chatConnection,
  });
  const verification = (await create('POST', '/api/verifications', { phone: person.phone })).verification._id;
  const job = (await create('POST', '/api/leads/check-availability', { leadIds: [planted.leadId] })).jobId;
  await create('POST', '/api/team/invite', { email: `${newId()}@example.test` }, byAdmin);
  const invitation = (await api('GET', '/api/team/invitations')).body.invitations[0]._id;
  await createKey(app, 'workspace', workspace.id);
  const byOwner = apiClient(app.url, owner);
  const key = (await byAdmin('GET', '/api/keys')).body.keys[0]._id;
  const suppressed = `${newId()}@example.test`;
  await create('POST', '/api/agency/suppressions', { address: suppressed }, byOwner);
  const ownersKey = (await byOwner('GET', '/api/agency/keys')).body.keys[0]._id;
  await create('POST', '/api/agency/admins', { email: `${newId()}@example.test` }, byOwner);
  const agencyInvitation = (await byOwner('GET', '/api/agency/invitations')).body.invitations[0]._id;
  const [{ target }] = (await byOwner('GET', '/api/agency/audit-log')).body.entries;
  const { secret } = await create('POST', '/api/webhooks', {
    name: named,
    url: 'http://127.0.0.1:9/',
    events: ['message.sent'],
  });
  const webhook = (await api('GET', '/api/webhooks')).body.webhooks.find(
    ({ name }: { name: string }) => name === 'all',
  )._id;
  // One that a person sent: what a key sends has no sender.
  const bySender = { recipientPhone: phone(), message: 'Hi' };
  const personal = (await create('POST', '/api/messages', bySender, byAdmin))._id;
  await eventually(async () => (await api('GET', `/api/messages/${personal}`)).body.status === 'delivered');
  const delivery = await eventually(
    async () => (await api('GET', `/api/webhooks/${webhook}/deliveries`)).body.deliveries[0]?.id,
  );
  return {
    ...planted,
    agencyId,
    credentials: {
      'workspace key': `Bearer ${workspace.key}`,
      "console's session": `Bearer ${admin}`,
      "member's session": `Bearer ${await session(member, 'org:member')}`,
      'agency key': `Bearer ${agencyKey}`,
      "agency owner's session": `Bearer ${owner}`,
      "co-admin's session": `Bearer ${await session(coAdmin, null)}`,
      'webhook secret': `Bearer ${secret}`,
    },
    ids: {
      '/api/messages/': planted.messages.scheduled,
      '/api/replies/': planted.replyId,
      '/api/conversations/': person.phone,
      '/api/conversations/bulk/': bulkConversations,
      '/api/leads/bulk/': bulkLeads,
      '/api/opt-outs/': person.email,
      '/api/opt-outs/suspected/': suspicion,
      '/api/lines/': lineId,
      '/api/leads/check-availability/jobs/': job,
      '/api/line-requests/': lineId,
      '/api/lists/': planted.listId,
      '/api/lists/{id}/imports/': planted.importId,
      '/api/leads/': planted.leadId,
      '/api/campaigns/': draftCampaign,
      '/api/leads/{id}/campaigns/': planted.campaignId,
      '/api/campaigns/{id}/leads/': planted.leadId,
      '/api/pools/': pool,
      '/api/segments/': segment,
      '/api/rules/': rule,
      '/api/snippets/': snippet,
      '/api/saved-filters/': savedFilter,
      '/api/opt-in-links/': optInLink,
      '/api/verifications/': verification,
      '/api/chat-connections/': chatConnection,
      '/api/crm-connections/': crmConnection,
      '/api/webhooks/': webhook,
      '/api/webhooks/{id}/deliveries/': delivery,
      '/api/team/invitations/': invitation,
      '/api/keys/': key,
      '/api/sessions/': await plantSession(app, workspace),
      '/api/passkeys/': passkey,
      '/api/agency/keys/': ownersKey,
      '/api/agency/webhooks/': webhook,
      '/api/agency/admins/': coAdmin,
      '/api/team/': member,
      '/api/agency/invitations/': agencyInvitation,
    },
    fields: {
      '/api/lines/check-availability id': lineId,
      '/api/leads/check-availability id': planted.leadId,
      '/api/agency/audit-log actorId': agencyOwner,
      '/api/agency/audit-log targetId': target.id,
      '/api/opt-outs address': person.email,
      '/api/opt-outs/suspected address': suspect,
      '/api/agency/suppressions address': suppressed,
      leadId: planted.leadId,
      leadIds: planted.leadId,
      addToListId: planted.listId,
      moveToListId: planted.listId,
      enterCampaignId: planted.campaignId,
      webhook,
      removeFromListId: planted.listId,
      listId: planted.listId,
      campaignId: planted.campaignId,
      campaignIds: planted.campaignId,
      segmentId: segment,
      snippetId: snippet,
      lineId,
      groupId: group,
      fromLineId: lineId,
      poolId: pool,
      eligibleLineIds: lineId,
      lineIds: lineId,
      messageId: planted.messages.delivered,
      replyId: planted.replyId,
      replyToMessageId: planted.messages.delivered,
      attachmentUrls: planted.uploadUrl,
      userId: workspace.ownerId,
      assigneeId: workspace.ownerId,
      actorId: workspace.ownerId,
      targetId: webhook,
      workspaceId: workspace.id,
      targetWorkspaceId: workspace.id,
      agencyId,
      'x-workspace-id': workspace.id,
      'x-agency-id': agencyId,
      address: person.phone,
      number: person.phone,
      to: person.phone,
      search: person.phone,
      '/api/lines/by-user search': line.phone,
      '/api/opt-outs search': person.email,
    },
  };
}
