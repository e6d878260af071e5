import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { TenantRoute } from '#api/http/route.ts';
import { newId } from '#domain/ids.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createKey, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { call, pathOf, tenantRoutes } from './requests.ts';

/** A workspace of an agency, with one of each resource that has an id. */
interface World {
  workspaceId: string;
  /** The session of the agency's owner, who is not a member of the workspace. */
  agent: string;
  authorization(route: TenantRoute): string;
  /** The id for each path parameter, by the path before it. */
  ids: Record<string, string>;
}

let app: TestApp;
let mine: World;
let theirs: World;

beforeAll(async () => {
  app = await startTestApp();
  [mine, theirs] = await Promise.all([buildWorld('+14155550301'), buildWorld('+14155550302')]);
});
afterAll(() => app.stop());

async function buildWorld(phone: string): Promise<World> {
  const agency = await createAgency(app);
  const workspace = await createWorkspace(app, { agency_id: agency.id });
  const admin = await signIn(app, {
    userId: workspace.ownerId,
    organizationId: workspace.id,
    role: 'org:admin',
  });
  const owner = await signIn(app, { userId: agency.ownerId });
  const api = apiClient(app.url, workspace.key);
  const lineId = await createLine(app, workspace.id);
  const create = async (method: string, path: string, body: unknown, by: ApiClient = api) => {
    const response = await by(method, path, body);
    expect(response.status, `${method} ${path}: ${JSON.stringify(response.body)}`).toBeLessThan(300);
    return response.body;
  };
  const list = (await create('POST', '/api/lists', { name: 'List' })).list._id;
  const [lead] = (await create('POST', '/api/leads', { listId: list, leads: [{ firstName: 'Ada', phone }] }))
    .leadIds;
  const message = (
    await create('POST', '/api/messages', { recipientPhone: phone, message: 'Hi', scheduledDate: tomorrow() })
  )._id;
  const campaign = (
    await create('POST', '/api/campaigns', { name: 'Campaign', steps: [{ message: 'Hi', delay: {} }] })
  ).campaign._id;
  const webhook = (
    await create('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.sent'] })
  ).webhook._id;
  const delivery = newId();
  await insertRow(app, 'events', {
    workspace_id: workspace.id,
    id: delivery,
    event: 'message.sent',
    body: '{}',
  });
  await insertRow(app, 'webhook_deliveries', {
    workspace_id: workspace.id,
    id: delivery,
    webhook_id: webhook,
    event_id: delivery,
    event: 'message.sent',
    status: 'done',
    success: false,
  });
  await create('POST', '/simulated/carrier/inbound', { lineId, from: phone, text: 'Hi' });
  await eventually(async () => (await api('GET', `/api/conversations/${phone}`)).status === 200);
  await create('POST', '/api/opt-outs', { address: phone.replace('555', '556') });
  const job = (await create('POST', '/api/leads/check-availability', { leadIds: [lead] })).jobId;
  const csv = await fetch(`${app.url}/api/lists/${list}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'text/csv' },
    body: 'phone\nnone\n',
  });
  const { importId } = (await csv.json()) as { importId: string };
  await eventually(
    async () => (await api('GET', `/api/lists/${list}/imports/${importId}`)).body.status === 'completed',
  );
  const invitation = (await create('POST', '/api/team/invite', { email: 'ada@example.com' })).invitation._id;
  await createKey(app, 'workspace', workspace.id);
  const key = (await apiClient(app.url, admin)('GET', '/api/keys')).body.keys[0]._id;
  const agencyKey = (await apiClient(app.url, owner)('GET', '/api/agency/keys')).body.keys[0]._id;
  const coAdmin = `user_${newId()}`;
  await insertRow(app, 'users', { id: coAdmin, email: `${coAdmin}@example.test` });
  await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: coAdmin, role: 'co_admin' });
  await create('POST', '/api/agency/admins', { email: `${newId()}@example.test` }, apiClient(app.url, owner));
  const agencyInvitation = (await apiClient(app.url, owner)('GET', '/api/agency/invitations')).body
    .invitations[0]._id;
  return {
    workspaceId: workspace.id,
    agent: `Bearer ${owner}`,
    authorization: ({ caller, credential }) => {
      if (credential === 'session') return `Bearer ${caller === 'agency' ? owner : admin}`;
      return `Bearer ${caller === 'agency' ? agency.key : workspace.key}`;
    },
    ids: {
      '/api/messages/': message,
      '/api/conversations/': phone,
      '/api/opt-outs/': phone.replace('555', '556'),
      '/api/lines/': lineId,
      '/api/leads/check-availability/jobs/': job,
      '/api/line-requests/': lineId,
      '/api/lists/': list,
      '/api/lists/{id}/imports/': importId,
      '/api/leads/': lead,
      '/api/campaigns/': campaign,
      '/api/webhooks/': webhook,
      '/api/webhooks/{id}/deliveries/': delivery,
      '/api/team/invitations/': invitation,
      '/api/keys/': key,
      '/api/agency/keys/': agencyKey,
      '/api/agency/webhooks/': webhook,
      '/api/agency/admins/': coAdmin,
      '/api/agency/invitations/': agencyInvitation,
    },
  };
}

const tomorrow = (): string => new Date(Date.now() + 86_400_000).toISOString();

/** Bodies that pass validation, so that the route looks up its resource. */
const BODIES: Record<string, object> = {
  tagConversation: { tags: ['interested'] },
  actOnLineRequest: { action: 'cancel' },
  addCampaignLead: { leadId: newId() },
  previewCampaign: { leadId: newId() },
  connectLineCarrier: { provider: 'simulated', config: {} },
};

/** Routes about an address as such, which belongs to no tenant. */
const ABOUT_ADDRESSES = new Set(['getOptOut']);

const withId = tenantRoutes.filter(({ path, id }) => path.includes('{') && !ABOUT_ADDRESSES.has(id));

/** The path of a route with the ids of a world. @throws if the world has no id for a parameter. */
function pathIn(route: TenantRoute, { ids }: World): string {
  const params: Record<string, string> = {};
  for (const { 1: name = '', index } of route.path.matchAll(/\{(\w+)\}/g)) {
    const id = ids[route.path.slice(0, index)];
    if (id === undefined) throw new Error(`the world has nothing for ${route.path}`);
    params[name] = id;
  }
  return pathOf(route, params);
}

const ask = (route: TenantRoute, of: World) =>
  call(app.url, route, mine.authorization(route), { path: pathIn(route, of), body: BODIES[route.id] ?? {} });

describe("another tenant's resource", () => {
  it.each(withId.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'does not exist for %s',
    async (_, route) => {
      const { status, body } = await ask(route, theirs);
      expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
    },
  );

  it.each(
    withId
      .filter(({ method }) => method === 'GET')
      .map((route) => [`${route.method} ${route.path}`, route] as const),
  )('does not exist, while one of its own does, for %s', async (_, route) => {
    expect((await ask(route, mine)).status).toBe(200);
  });
});

test("no list contains another tenant's resources", async () => {
  const lists = tenantRoutes.filter(
    ({ method, path }) => method === 'GET' && !path.includes('{') && !path.includes('check-availability'),
  );
  expect(lists.length).toBeGreaterThan(15);
  const foreign = Object.values(theirs.ids);
  const leaks = await Promise.all(
    lists.map(async (route) => {
      const path =
        route.id === 'listDayConversations'
          ? `${route.path}?date=${new Date().toISOString().slice(0, 10)}`
          : route.path;
      const { status, body } = await call(app.url, route, mine.authorization(route), { path });
      const text = JSON.stringify(body);
      return foreign.filter((id) => text.includes(id)).map((id) => `${route.path} shows ${id} (${status})`);
    }),
  );
  expect(leaks.flat()).toEqual([]);
});

describe('the workspace that a request names in X-Workspace-Id', () => {
  const routes = tenantRoutes.filter(({ caller }) => caller === 'workspace');
  const codes = async (authorization: (route: TenantRoute) => string, { workspaceId }: World) => {
    const answers = await Promise.all(
      routes.map((route) =>
        call(app.url, route, authorization(route), { headers: { 'x-workspace-id': workspaceId } }),
      ),
    );
    return answers.map(({ status, body }) => (status === 404 ? body.code : status));
  };
  const notFound = routes.map(() => 'WORKSPACE_NOT_FOUND');

  it('does not exist for a key or a session of another tenant, nor for another agency', async () => {
    expect(await codes((route) => mine.authorization(route), theirs)).toEqual(notFound);
    expect(await codes(() => mine.agent, theirs)).toEqual(notFound);
  });

  it('is the one that a user of its agency acts in, as an admin', async () => {
    const found = await codes(() => mine.agent, mine);
    expect(found.filter((code) => [401, 403, 'WORKSPACE_NOT_FOUND'].includes(code))).toEqual([]);
    const { body } = await apiClient(app.url, mine.agent.slice('Bearer '.length))(
      'GET',
      '/api/messages',
      undefined,
      { 'x-workspace-id': mine.workspaceId },
    );
    expect(body.messages.map(({ _id }: { _id: string }) => _id)).toContain(mine.ids['/api/messages/']);
  });
});
