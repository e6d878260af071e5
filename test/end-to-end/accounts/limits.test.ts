import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { AGENCY_LIMITS, UNSUBSCRIBED_KB_PER_DAY, WORKSPACE_LIMITS } from '#domain/accounts/limits.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, type ApiResponse, apiClient } from '#test/support/client.ts';
import { createAgency, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { call, pathOf, tenantRoutes } from '#test/conformance/requests.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let owner: ApiClient;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});
beforeEach(async () => {
  workspace = await createWorkspace(app);
  ({ api } = workspace);
  owner = await sessionClient(app, {
    userId: workspace.ownerId,
    organizationId: workspace.id,
    role: 'org:admin',
  });
});

const ID = sql.fragment`lpad(to_hex(n), 24, '0')`;
/** Inserts rows of a workspace: `columns` of the table, with `values` for each `n`. */
const plant = (
  count: number,
  table: ReturnType<typeof sql.fragment>,
  values: ReturnType<typeof sql.fragment>,
): Promise<unknown> =>
  systemDb(app.pools).query(sql.type(NoRows)`
    insert into ${table} select ${values} from generate_series(1, ${count}) n returning null`);
const refusal = (limit: keyof typeof WORKSPACE_LIMITS) => ({
  status: 409,
  body: { code: 'LIMIT_REACHED', limit, max: WORKSPACE_LIMITS[limit].max },
});
/** The statuses of requests that are sent at once, sorted, and the body of the last refusal. */
async function atOnce(requests: readonly (() => Promise<ApiResponse>)[]) {
  const responses = await Promise.all(requests.map((send) => send()));
  return {
    statuses: responses.map(({ status }) => status).toSorted((a, b) => a - b),
    refused: responses.find(({ status }) => status === 409),
  };
}

describe('a workspace has at most so many', () => {
  const webhook = { url: 'https://hooks.example.com/', events: ['message.sent'] };
  it.each([
    {
      limit: 'webhooks' as const,
      plants: (id: string, count: number) =>
        plant(
          count,
          sql.fragment`webhooks (workspace_id, id, name, url, events, secret_sealed)`,
          sql.fragment`${id}, ${ID}, '', 'https://hooks.example.com/', array['message.sent'], 'sealed'`,
        ),
      add: () => api('POST', '/api/webhooks', webhook),
    },
    {
      limit: 'apiKeys' as const,
      plants: (id: string, count: number) =>
        plant(
          // The workspace of a test has a key.
          count - 1,
          sql.fragment`workspace_keys (workspace_id, id, name, hash, prefix, last4)`,
          sql.fragment`${id}, ${ID}, '', ${id} || n, 'svc_sk_', 'abcd'`,
        ),
      add: () => owner('POST', '/api/keys', { name: 'Another' }),
    },
    {
      limit: 'lists' as const,
      plants: (id: string, count: number) =>
        plant(
          count,
          sql.fragment`lead_lists (workspace_id, id, name)`,
          sql.fragment`${id}, ${ID}, 'List ' || n`,
        ),
      add: () => api('POST', '/api/lists', { name: newId() }),
    },
    {
      limit: 'segments' as const,
      plants: (id: string, count: number) =>
        plant(
          count,
          sql.fragment`segments (workspace_id, id, name, conditions)`,
          sql.fragment`${id}, ${ID}, 'Segment ' || n, '[]'`,
        ),
      add: () =>
        api('POST', '/api/segments', { name: newId(), when: [{ field: 'tag', op: 'eq', value: 'vip' }] }),
    },
    {
      limit: 'campaigns' as const,
      plants: (id: string, count: number) =>
        plant(
          count,
          sql.fragment`campaigns (workspace_id, id, name, steps)`,
          sql.fragment`${id}, ${ID}, 'Campaign ' || n, '[]'`,
        ),
      add: () => api('POST', '/api/campaigns', { name: newId(), steps: [{ message: 'Hi', delay: {} }] }),
    },
    {
      limit: 'snippets' as const,
      plants: (id: string, count: number) =>
        plant(
          count,
          sql.fragment`snippets (workspace_id, id, name, text)`,
          sql.fragment`${id}, ${ID}, 'Snippet ' || n, 'Hi'`,
        ),
      add: () => api('POST', '/api/snippets', { name: newId(), text: 'Hi' }),
    },
    {
      limit: 'rules' as const,
      plants: (id: string, count: number) =>
        plant(
          count,
          sql.fragment`rules (workspace_id, id, name, trigger, conditions, actions)`,
          sql.fragment`${id}, ${ID}, 'Rule ' || n, 'reply', '[]', '[]'`,
        ),
      add: () => api('POST', '/api/rules', { name: 'Rule', on: 'reply', do: [{ close: true }] }),
    },
    {
      limit: 'savedFilters' as const,
      plants: (id: string, count: number) =>
        plant(
          count,
          sql.fragment`saved_filters (workspace_id, id, name, view, search)`,
          sql.fragment`${id}, ${ID}, 'Filter ' || n, 'open', ''`,
        ),
      add: () => api('POST', '/api/saved-filters', { name: newId(), view: 'open', shared: true }),
    },
  ])('$limit, however many are added at once', async ({ limit, plants, add }) => {
    await plants(workspace.id, WORKSPACE_LIMITS[limit].max - 1);
    const { statuses, refused } = await atOnce([add, add, add]);
    expect(statuses).toEqual([201, 409, 409]);
    expect(refused).toMatchObject(refusal(limit));
    const { limits } = (await api('GET', '/api/workspace/limits')).body;
    const { max } = WORKSPACE_LIMITS[limit];
    expect(limits).toContainEqual({ limit, max, used: max, text: expect.any(String) });
  });

  it('webhooks, whoever registers them', async () => {
    const agency = await createAgency(app);
    const clients = [
      await createWorkspace(app, { agency_id: agency.id }),
      await createWorkspace(app, { agency_id: agency.id }),
    ];
    await plant(
      WORKSPACE_LIMITS.webhooks.max,
      sql.fragment`webhooks (workspace_id, id, name, url, events, secret_sealed)`,
      sql.fragment`${clients[1]?.id ?? ''}, ${ID}, '', 'https://hooks.example.com/', array['message.sent'], 'sealed'`,
    );
    const body = { ...webhook, allWorkspaces: true };
    expect(await agency.api('POST', '/api/agency/webhooks', body)).toMatchObject(refusal('webhooks'));
    expect((await clients[0]?.api('GET', '/api/webhooks'))?.body.webhooks).toEqual([]);
  });

  it('names of custom fields', async () => {
    const fields = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, index) => [`field ${from + index}`, 'x']));
    const lead = (customFields: object) => ({ leads: [{ phone: phone(), customFields }] });
    for (let from = 0; from < 498; from += 50)
      expect((await api('POST', '/api/leads', lead(fields(from, Math.min(498, from + 50))))).status).toBe(
        201,
      );
    const same = () => api('POST', '/api/leads', lead({ same: 'x' }));
    expect((await atOnce([same, same])).statuses).toEqual([201, 201]);
    expect(await api('POST', '/api/leads', lead(fields(497, 500)))).toMatchObject(refusal('customFields'));
    const { statuses } = await atOnce(
      ['a', 'b'].map((name) => () => api('POST', '/api/leads', lead({ [name]: 'x' }))),
    );
    expect(statuses).toEqual([201, 409]);
    const saved = await api('POST', '/api/leads', lead(fields(0, 50)));
    expect(saved.status).toBe(201);
    const [leadId] = saved.body.leadIds;
    expect(await api('PATCH', `/api/leads/${leadId}`, { customFields: { another: 'x' } })).toMatchObject(
      refusal('customFields'),
    );
    expect((await api('PATCH', `/api/leads/${leadId}`, { customFields: fields(100, 110) })).status).toBe(200);
  });

  it('lines, also by a second try of a request that failed', async () => {
    const failed = await createLine(app, workspace.id, 'email', { provisioning_status: 'failed' });
    await plant(
      WORKSPACE_LIMITS.lines.max,
      sql.fragment`lines (workspace_id, id, channel, first_name, last_name, email, provisioning_status, carrier, daily_total_limit,
        daily_new_limit, min_gap_seconds, contact_gap_seconds)`,
      sql.fragment`${workspace.id}, ${ID}, 'email', 'Test', 'Line', n || ${`.${workspace.id}@line.example`}, 'active', 'simulated', 150, 50, 20, 60`,
    );
    const retry = await api('POST', `/api/line-requests/${failed}`, { action: 'retry' });
    expect(retry).toMatchObject(refusal('lines'));
  });

  it('waiting messages, drips and what campaigns will queue included', async () => {
    await createLine(app, workspace.id);
    await plant(
      2,
      sql.fragment`drip_buffer (workspace_id, id, draft)`,
      sql.fragment`${workspace.id}, ${ID}, '{}'`,
    );
    const later = new Date(Date.now() + 86_400_000).toISOString();
    const message = { message: 'Hi', recipientPhone: phone(), scheduledDate: later };
    expect((await api('POST', '/api/messages', message)).status).toBe(201);
    const leads = [phone(), phone(), phone()].map((number) => ({ phone: number }));
    const listId = (await api('POST', '/api/lists', { name: 'Own' })).body.list._id;
    expect((await api('POST', '/api/leads', { listId, leads })).status).toBe(201);
    const step = { message: 'Hi', delay: { days: 1 } };
    const campaign = { name: 'Many', steps: [step, step], listId };
    const made = (await api('POST', '/api/campaigns', campaign)).body.campaign;
    const used = async (): Promise<number> => {
      const { limits } = (await api('GET', '/api/workspace/limits')).body;
      return limits.find(({ limit }: { limit: string }) => limit === 'waitingMessages').used;
    };
    expect(await used()).toBe(3);

    const pretend = (count: number) =>
      systemDb(app.pools).query(sql.type(NoRows)`
        update lead_lists set lead_count = ${count} where workspace_id = ${workspace.id} and id = ${listId}`);
    const start = () => api('POST', `/api/campaigns/${made._id}/start`);
    const { max } = WORKSPACE_LIMITS.waitingMessages;
    await pretend((max - 2) / 2);
    expect(await start()).toMatchObject(refusal('waitingMessages'));
    expect(await api('POST', '/api/campaigns', { ...campaign, start: true })).toMatchObject(
      refusal('waitingMessages'),
    );
    expect((await start()).status).toBe(409);
    await pretend(3);
    expect((await start()).status).toBe(200);
    // No worker runs: the campaign has queued nothing yet.
    expect(await used()).toBe(3 + 3 * 2);
  });

  it('event streams', async () => {
    await plant(
      WORKSPACE_LIMITS.eventStreams.max,
      sql.fragment`event_streams (id, holder, workspace_id)`,
      sql.fragment`right(${workspace.id} || ${ID}, 24), 'key ' || n, ${workspace.id}`,
    );
    expect(await api('GET', '/api/events/stream')).toMatchObject(refusal('eventStreams'));
  });
});

describe('an agency', () => {
  const input = { name: 'New', legalName: 'New Inc', timezone: 'UTC' };
  const reached = (limit: keyof typeof AGENCY_LIMITS) => ({
    status: 409,
    body: { code: 'LIMIT_REACHED', limit, max: AGENCY_LIMITS[limit].max },
  });

  it.each([
    { limit: 'newWorkspaces' as const, age: '30 minutes' },
    { limit: 'workspaces' as const, age: '1 day' },
  ])('has at most so many: $limit', async ({ limit, age }) => {
    const agency = await createAgency(app);
    await systemDb(app.pools).query(sql.type(NoRows)`
      insert into workspaces (id, agency_id, name, created_at)
      select ${agency.id} || '_' || n, ${agency.id}, 'Client', now() - ${age}::interval
      from generate_series(1, ${AGENCY_LIMITS[limit].max - 1}) n returning null`);
    const add = () => agency.api('POST', '/api/agency/subaccounts', input);
    const { statuses, refused } = await atOnce([add, add]);
    expect(statuses).toEqual([201, 409]);
    expect(refused).toMatchObject(reached(limit));
    expect(refused?.headers.get('retry-after')).toBe(limit === 'newWorkspaces' ? '3600' : null);
  });

  it('invites a hundred people an hour, through whichever of its workspaces', async () => {
    const agency = await createAgency(app);
    let sent = 0;
    let refused: ApiResponse | undefined;
    while (!refused) {
      const client = await createWorkspace(app, { agency_id: agency.id });
      const responses = await Promise.all(
        Array.from({ length: 20 }, () =>
          client.api('POST', '/api/team/invite', { email: `${newId()}@example.com` }),
        ),
      );
      sent += responses.filter(({ status }) => status === 201).length;
      refused = responses.find(({ status }) => status === 409);
    }
    expect(sent).toBe(AGENCY_LIMITS.invitations.max);
    expect(refused).toMatchObject(reached('invitations'));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('without a subscribed client shares three emails a day to an address with all such agencies', async () => {
    const email = `${newId()}@example.com`;
    const invite = async (fields: Record<string, string> | null) => {
      const agency = await createAgency(app);
      if (fields) await createWorkspace(app, { agency_id: agency.id, ...fields });
      const session = await sessionClient(app, { userId: agency.ownerId });
      expect((await session('POST', '/api/agency/admins', { email })).status).toBe(202);
    };
    const mails = () =>
      systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
        select count(*)::int count from agency_mails where recipient = ${email}`);
    await Promise.all(Array.from({ length: 5 }, () => invite({ subscription_status: 'none' })));
    await invite(null);
    expect(await mails()).toBe(3);
    await invite({ subscription_status: 'active' });
    expect(await mails()).toBe(4);
  });
});

describe('a workspace that never had a subscription', () => {
  it('sends a limited amount of data a day, whatever the endpoint', async () => {
    const { key } = await createWorkspace(app, { subscription_status: 'none', plan: null });
    const client = apiClient(app.url, key);
    const documents = Array.from({ length: 10 }, () => ({ title: 'Filler', text: 'x'.repeat(100_000) }));
    const put = () => client('PUT', '/api/knowledge-base', { mode: 'off', documents });
    const most = Math.floor(UNSUBSCRIBED_KB_PER_DAY / (1_000_000 / 1024));
    for (let sent = 0; sent < most; sent += 1) expect((await put()).status).toBe(200);
    const refused = await put();
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3600);
    expect((await client('POST', '/api/lists', { name: 'List' })).status).toBe(429);
    expect((await client('GET', '/api/lists')).status).toBe(200);
  });

  it('changes a limited number of objects a day, however few requests that takes', async () => {
    const { id, key } = await createWorkspace(app, { subscription_status: 'none', plan: null });
    const client = apiClient(app.url, key);
    const { body: hook } = await client('POST', '/api/webhooks', {
      url: 'https://hooks.example.com/',
      events: ['lead.created'],
    });
    const webhook = hook.webhook._id as string;
    const today = sql.fragment`${newId().slice(0, 8)} || lpad(to_hex(n), 16, '0')`;
    await plant(
      10_000,
      sql.fragment`events (workspace_id, id, event, body)`,
      sql.fragment`${id}, ${today}, 'lead.created', '{"a":1}'`,
    );
    await plant(
      10_000,
      sql.fragment`webhook_deliveries (workspace_id, id, webhook_id, event_id, event, status, success)`,
      sql.fragment`${id}, ${today}, ${webhook}, ${today}, 'lead.created', 'done', false`,
    );
    const since = new Date(Date.now() - 86_400_000).toISOString();
    const replay = () => client('POST', `/api/webhooks/${webhook}/replay`, { since });
    expect((await replay()).body.queued).toBe(10_000);
    const leads = { leads: Array.from({ length: 10_000 }, () => ({ phone: phone() })) };
    expect((await client('POST', '/api/leads', leads)).status).toBe(201);
    const change = { filter: {}, change: { contactOwnerEmail: null } };
    for (const refused of [
      await client('POST', '/api/leads/bulk', change),
      await replay(),
      // Without a body.
      await client('POST', `/api/webhooks/${webhook}/rotate-secret`),
    ])
      expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED']);
    expect((await client('GET', '/api/leads')).status).toBe(200);
  });

  it('sends, invites and uploads nothing', async () => {
    const { key } = await createWorkspace(app, { subscription_status: 'none', plan: null });
    const routes = tenantRoutes.filter(({ needsSubscription }) => needsSubscription);
    expect(routes.map(({ id }) => id).toSorted()).toEqual([
      'addCampaignLead',
      'correctCampaign',
      'createGroup',
      'drip',
      'editMessage',
      'importLeads',
      'inviteToTeam',
      'reactToMessage',
      'resolveAutoReply',
      'resumeCampaign',
      'sendFallbackSms',
      'sendMessage',
      'sendReply',
      'showTyping',
      'startCampaign',
      'unsendMessage',
      'uploadAttachment',
    ]);
    const refused = { status: 402, body: { error: 'subscription_required', code: 'SUBSCRIPTION_REQUIRED' } };
    for (const route of routes)
      expect(await call(app.url, route, `Bearer ${key}`, { path: pathOf(route) }), route.id).toMatchObject(
        refused,
      );
    const client = apiClient(app.url, key);
    const campaign = { name: 'Now', steps: [{ message: 'Hi', delay: {} }] };
    expect(await client('POST', '/api/campaigns', { ...campaign, start: true })).toMatchObject(refused);
    // What it prepares is not refused.
    expect((await client('POST', '/api/campaigns', campaign)).status).toBe(201);
    expect((await client('POST', '/api/leads', { leads: [{ phone: phone() }] })).status).toBe(201);
  });
});
