import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { TenantRoute } from '#api/http/route.ts';
import { newId } from '#domain/ids.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createKey, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { call, pathOf, tenantRoutes } from './requests.ts';

/** A workspace of an agency, with one of everything that has an id. */
interface World {
  authorization(route: TenantRoute): string;
  /** The id that stands for each parameter, by the path up to it. */
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
  const made = async (method: string, path: string, body: unknown, by: ApiClient = api) => {
    const answer = await by(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  const list = (await made('POST', '/api/lists', { name: 'List' })).list._id;
  const [lead] = (await made('POST', '/api/leads', { listId: list, leads: [{ firstName: 'Ada', phone }] }))
    .leadIds;
  const message = (
    await made('POST', '/api/messages', { recipientPhone: phone, message: 'Hi', scheduledDate: tomorrow() })
  )._id;
  const campaign = (
    await made('POST', '/api/campaigns', { name: 'Campaign', steps: [{ message: 'Hi', delay: {} }] })
  ).campaign._id;
  const webhook = (
    await made('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.sent'] })
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
  await made('POST', '/simulated/carrier/inbound', { lineId, from: phone, text: 'Hi' });
  await eventually(async () => (await api('GET', `/api/conversations/${phone}`)).status === 200);
  await made('POST', '/api/opt-outs', { address: phone.replace('555', '556') });
  const job = (await made('POST', '/api/leads/check-availability', { leadIds: [lead] })).jobId;
  const csv = await fetch(`${app.url}/api/lists/${list}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.key}`, 'content-type': 'text/csv' },
    body: 'phone\nnone\n',
  });
  const { importId } = (await csv.json()) as { importId: string };
  await eventually(
    async () => (await api('GET', `/api/lists/${list}/imports/${importId}`)).body.status === 'completed',
  );
  const invitation = (await made('POST', '/api/team/invite', { email: 'ada@example.com' })).invitation._id;
  await createKey(app, 'workspace', workspace.id);
  const key = (await apiClient(app.url, admin)('GET', '/api/keys')).body.keys[0]._id;
  const agencyKey = (await apiClient(app.url, owner)('GET', '/api/agency/keys')).body.keys[0]._id;
  const coAdmin = `user_${newId()}`;
  await insertRow(app, 'users', { id: coAdmin, email: `${coAdmin}@example.test` });
  await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: coAdmin, role: 'co_admin' });
  await made('POST', '/api/agency/admins', { email: `${newId()}@example.test` }, apiClient(app.url, owner));
  const agencyInvitation = (await apiClient(app.url, owner)('GET', '/api/agency/invitations')).body
    .invitations[0]._id;
  return {
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

/** What a route needs to get as far as looking for the thing it is about. */
const BODIES: Record<string, object> = {
  tagConversation: { tags: ['interested'] },
  actOnLineRequest: { action: 'cancel' },
  addCampaignLead: { leadId: newId() },
  previewCampaign: { leadId: newId() },
  connectLineCarrier: { provider: 'simulated', config: {} },
};

/** Answers about any address, of nobody's: what it says is the same for all. */
const ABOUT_ADDRESSES = new Set(['getOptOut']);

const withId = tenantRoutes.filter(({ path, id }) => path.includes('{') && !ABOUT_ADDRESSES.has(id));

/** The path of a route to the things of a world; a parameter whose thing the world has not is a mistake in the world. */
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

describe('something of another tenant', () => {
  it.each(withId.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'is not there for %s',
    async (_, route) => {
      const { status, body } = await ask(route, theirs);
      expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
    },
  );

  it.each(
    withId
      .filter(({ method }) => method === 'GET')
      .map((route) => [`${route.method} ${route.path}`, route] as const),
  )('(while its own is, for %s)', async (_, route) => {
    expect((await ask(route, mine)).status).toBe(200);
  });
});

test('is in nobody else’s lists', async () => {
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
