import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { TenantRoute } from '#api/http/route.ts';
import { scopesOf } from '#api/http/scopes.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { newId, newWorkspaceId } from '#domain/base/ids.ts';
import { freePort } from '#providers/free-port.ts';
import { connected } from '#db/connection/connected.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiResponse, apiClient } from '#test/support/client.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createAgency, createKey, createWorkspace } from '#test/support/factories.ts';
import { traces } from '#test/support/planted-contact.ts';
import { type AppProcess, startProcess } from '#test/support/process.ts';
import { findTraces } from '#test/support/traces.ts';
import { allReferences, lastName, type Reference } from './references.ts';
import { call, pathOf, tenantRoutes } from './requests.ts';
import { type TenantFunction, tenantFunctions } from './tenant-functions.ts';
import { buildWorld, type CredentialKind, CREDENTIALS, type World } from './tenant-world.ts';

let app: OwnApp;
let mine: World;
/** A workspace of another agency. */
let theirs: World;
/** The day on which something has happened in both, which may be yesterday by now. */
let builtOn: string;
/** Another workspace of my agency, without anything in it. */
let empty: string;
/** Processes that log all they can: the worker that did the tenants' work, and another API that is asked about it. */
let worker: AppProcess;
let front: AppProcess & { url: string };
const logs = mkdtempSync(join(tmpdir(), 'linepace-logs-'));
const receivers: Record<'mine' | 'theirs', Endpoint> = {} as never;

beforeAll(async () => {
  app = await startTestApp({ worker: false, environment: { FAILED_ATTEMPTS_PER_MINUTE: '1000000' } });
  worker = await startLogged('workers/worker.ts');
  for (const name of ['mine', 'theirs'] as const) receivers[name] = await startEndpoint();
  const [agency, other] = await Promise.all([createAgency(app), createAgency(app)]);
  [mine, theirs] = await Promise.all([
    buildWorld(app, receivers.mine, agency),
    buildWorld(app, receivers.theirs, other),
  ]);
  builtOn = new Date().toISOString().slice(0, 10);
  empty = (await createWorkspace(app, { agency_id: agency.id })).id;
  const port = await freePort();
  front = { ...(await startLogged('api/server.ts', port)), url: `http://localhost:${port}` };
  // What changes from now on, requests have changed.
  await worker.kill();
});
afterAll(async () => {
  await Promise.all([front.kill(), worker.kill()]);
  rmSync(logs, { recursive: true });
  for (const receiver of Object.values(receivers)) await receiver.close();
  await app.stop();
});

const logOf = (entry: string): string => join(logs, basename(entry, '.ts'));

async function startLogged(entry: 'api/server.ts' | 'workers/worker.ts', port = 0): Promise<AppProcess> {
  const file = await open(logOf(entry), 'w');
  const started = await startProcess(entry, { ...app.config, logLevel: 'trace' }, port, file.fd);
  await file.close();
  return started;
}

/** The credential with which a tenant calls an endpoint. */
const authorizationOf = ({ credentials }: World, { caller, credential }: TenantRoute): string => {
  if (credential === 'session')
    return credentials[caller === 'agency' ? "agency owner's session" : "console's session"];
  return credentials[caller === 'agency' ? 'agency key' : 'workspace key'];
};

function tomorrow(): string {
  return new Date(Date.now() + 86_400_000).toISOString();
}

/** Bodies that pass validation, so that the route looks up its resource. */
const BODIES: Record<string, object> = {
  updateTeamMember: { role: 'org:admin' },
  setAway: { away: true },
  overrideLineReputation: { hours: 1, reason: 'A new list' },
  sendMessage: { message: 'Hi', recipientPhone: phone(), scheduledDate: tomorrow() },
  editMessage: { message: 'Hi' },
  showTyping: { state: 'on' },
  reactToMessage: { reaction: 'love' },
  drip: { message: 'Hi', recipientPhone: phone() },
  sendReply: { message: 'Hi', phone: phone() },
  createGroup: { message: 'Hi', recipients: [phone(), phone()] },
  resolveAutoReply: { action: 'reject' },
  createLeads: { leads: [{ phone: phone() }] },
  createCampaign: { name: 'Campaign', steps: [{ message: 'Hi', delay: {} }] },
  updateCampaign: { steps: [{ message: 'Hi', delay: {} }] },
  dryRunCampaignEdit: { steps: [{ message: 'Hi', delay: {} }] },
  correctCampaign: { stepId: 'one' },
  updateCampaignLead: { resumesAt: null },
  createWebhook: { url: 'http://127.0.0.1:9/', events: ['message.sent'] },
  replayWebhookDeliveries: { since: tomorrow() },
  createAgencyWebhook: { url: 'http://127.0.0.1:9/', events: ['message.sent'] },
  subscribeClient: { plan: 'starter' },
  tagConversation: { tags: ['interested'] },
  addLeadTags: { tags: ['interested'] },
  removeLeadTags: { tags: ['interested'] },
  actOnLineRequest: { action: 'cancel' },
  decideOptOutSuspicion: { action: 'dismiss' },
  addCampaignLead: { leadId: newId() },
  previewCampaign: { leadId: newId() },
  createPool: { name: 'Pool', lines: [{}] },
  updatePool: { name: 'Pool' },
  forecast: { newConversations: 1, steps: [{ delay: {} }] },
  connectLineCarrier: { provider: 'simulated', config: {} },
  setContactCard: { firstName: 'Dana', lastName: 'Line' },
  testCarrierSettings: { provider: 'simulated', channel: 'sms', config: {} },
  createDraft: { message: 'Hello' },
  createNote: { text: 'Calls back on Monday' },
  reportPresence: { state: 'viewing' },
  updateConversation: { status: 'closed' },
  createSavedFilter: { name: 'VIPs', view: 'open', shared: true },
  createRule: { name: 'Greeting', on: 'reply', do: [{ close: true }] },
  startAutopilotDryRun: {},
  dryRunRule: { on: 'reply', do: [{ close: true }] },
  createSnippet: { name: 'Hours', text: 'We open at nine' },
  createOptInLink: { name: 'Poster', text: 'Join', consent: 'I want offers' },
  createVerification: { phone: phone() },
};
/** A body needs these as well as what it refers to, and they have to be one's own. */
const bodyOf = ({ id }: TenantRoute, { lineId, listId, leadId, person }: World, field = ''): object => ({
  ...BODIES[id],
  ...(id === 'changeConversations' && {
    addresses: [person.phone],
    change: { status: 'closed' },
    dryRun: true,
  }),
  ...(id === 'changeLeads' && {
    // Either ids or a filter.
    ...(!field.startsWith('filter.') && { leadIds: [leadId] }),
    change: { removeFromListId: listId },
    dryRun: true,
  }),
  // Either a line or a pool.
  ...(id === 'createOptInLink' && field !== 'poolId' && { lineId }),
  ...(/^steps.*(moveToListId|enterCampaignId|webhook)$/.test(field) && { steps: [{ kind: 'do' }] }),
  ...(field.startsWith('do[]') && { do: [{ close: true }] }),
  ...(id === 'updatePool' && { lines: [{ lineId }] }),
  ...(id === 'changeAgencyLine' && { action: 'transfer', lineId, targetWorkspaceId: empty }),
});

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

/** Routes that refuse the world's own resource for another reason: its line is not for email. */
const REFUSED: Record<string, number> = { checkEmailAuthentication: 409 };

const ask = (route: TenantRoute, of: World) =>
  call(app.url, route, authorizationOf(mine, route), {
    path: pathIn(route, of),
    body: BODIES[route.id] ?? {},
  });

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
    expect((await ask(route, mine)).status).toBe(REFUSED[route.id] ?? 200);
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
      const path = route.id === 'listDayConversations' ? `${route.path}?date=${builtOn}` : route.path;
      const { status, body } = await call(app.url, route, authorizationOf(mine, route), { path });
      const text = JSON.stringify(body);
      return foreign.filter((id) => text.includes(id)).map((id) => `${route.path} shows ${id} (${status})`);
    }),
  );
  expect(leaks.flat()).toEqual([]);
});

/** What reads leave behind: themselves, what a probe of a line found, and that a contact was exported. */
const BY_READS = new Set(['request_log', 'lines', 'audit_log'].map((table) => `${table} by workspace_id`));

test('a key that only reads changes nothing, whatever it calls', async () => {
  const key = await createKey(app, 'workspace', mine.workspace.id, { scopes: '{read}' });
  const reads = tenantRoutes.filter(
    (route) => scopesOf(route).includes('read') && route.produces !== 'text/event-stream',
  );
  const posted = reads.filter(({ method }) => method !== 'GET').map(({ id }) => id);
  expect(posted).toEqual(expect.arrayContaining(['previewCampaign', 'checkCampaign', 'checkAvailability']));
  const before = await digestOf(mine);
  await eachOf(reads, async (route) => {
    await call(app.url, route, `Bearer ${key}`, { path: pathIn(route, mine), body: bodyOf(route, mine) });
  });
  const after = await digestOf(mine);
  const changed = Object.keys(after).filter((table) => before[table] !== after[table]);
  expect(changed.filter((table) => !BY_READS.has(table))).toEqual([]);
});

describe('the workspace that a request names in X-Workspace-Id', () => {
  const routes = tenantRoutes.filter(({ caller }) => caller === 'workspace');
  const codes = async (authorization: (route: TenantRoute) => string, { workspace }: World) => {
    const answers = await Promise.all(
      routes.map((route) =>
        call(app.url, route, authorization(route), { headers: { 'x-workspace-id': workspace.id } }),
      ),
    );
    // Those of test mode refuse whoever is in live mode.
    return answers
      .filter(({ body }) => body.code !== 'TEST_MODE_ONLY')
      .map(({ status, body }) => (status === 404 ? body.code : status));
  };
  const notFound = routes.map(() => 'WORKSPACE_NOT_FOUND');

  it('does not exist for a key or a session of another tenant, nor for another agency', async () => {
    expect(await codes((route) => authorizationOf(mine, route), theirs)).toEqual(notFound);
    expect(await codes(() => mine.credentials["agency owner's session"], theirs)).toEqual(notFound);
  });

  it('is the one that a user of its agency acts in, as an admin', async () => {
    const found = await codes(() => mine.credentials["agency owner's session"], mine);
    expect(found.filter((code) => [401, 403, 'WORKSPACE_NOT_FOUND'].includes(code))).toEqual([]);
    const { body } = await apiClient(app.url, '')('GET', '/api/messages', undefined, {
      authorization: mine.credentials["agency owner's session"],
      'x-workspace-id': mine.workspace.id,
    });
    expect(body.messages.map(({ _id }: { _id: string }) => _id)).toContain(mine.ids['/api/messages/']);
  });
});

/** The request with which `by` calls an endpoint that gets `values` for what it refers to. */
function requestFor({ route, in: where, names }: Reference, values: readonly string[], by: World) {
  const given = Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
  const params: Record<string, string> = {};
  for (const { 1: name = '', index } of route.path.matchAll(/\{(\w+)\}/g))
    params[name] = (where === 'path' && given[name]) || by.ids[route.path.slice(0, index)] || newId();
  const [name = ''] = names;
  const query = new URLSearchParams({
    ...(route.id === 'listDayConversations' && { date: builtOn }),
    ...(where === 'query' && given),
  }).toString();
  return {
    path: pathOf(route, params) + (query === '' ? '' : `?${query}`),
    headers: where === 'header' ? given : {},
    body: where === 'body' ? withField(bodyOf(route, by, name), name, given[name] ?? '') : bodyOf(route, by),
  };
}

/** Sets a field by its path, `steps[].attachmentUrls`, in every element of the arrays on the way. */
function withField(body: object, path: string, value: string): object {
  const [name = '', ...rest] = path.split('.');
  const key = name.replace('[]', '') as keyof typeof body;
  if (rest.length === 0) return { ...body, [key]: /(Ids|Urls)$/.test(key) ? [value] : value };
  const inner: unknown = body[key] ?? {};
  const within = (object: object): object => withField(object, rest.join('.'), value);
  return { ...body, [key]: Array.isArray(inner) ? inner.map(within) : within(inner as object) };
}

/** What a reference is called in a world. @throws if the world has nothing of that name. */
function valuesIn({ route, in: where, names }: Reference, { ids, fields }: World): string[] {
  return names.map((name) => {
    const value =
      where === 'path'
        ? ids[route.path.slice(0, route.path.indexOf(`{${name}}`))]
        : (fields[`${route.path} ${name}`] ?? fields[lastName(name)]);
    if (value === undefined) throw new Error(`the world has nothing for ${name} in ${route.id}`);
    return value;
  });
}

/** Something of the same form that nobody has. */
const absent = (value: string): string =>
  value.replaceAll(/[0-9a-f]{24}/g, () => newId()).replaceAll(/\d{11}/g, () => phone().slice(1));

/** A response without what differs between any two: the id of the request, times, new ids and what was asked for. */
function shapeOf({ status, body }: ApiResponse, values: readonly string[]): string {
  const text = JSON.stringify(body, (key, value: unknown) => (key === 'requestId' ? undefined : value)) ?? '';
  const asked = values.reduce(
    (shown, value) => shown.replaceAll(value, '<asked>').replaceAll(encodeURIComponent(value), '<asked>'),
    text,
  );
  return `${status} ${asked.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{24}|[0-9a-f-]{36}/g, '<new>')}`;
}

const references = allReferences();
const nameOf = ({ route, in: where, names }: Reference): string =>
  `${route.method} ${route.path} ${where} ${names.join(' and ')}`;

/** A digest of each table's rows of a workspace and its agency. */
const digestOf = ({ workspace, agencyId }: World): Promise<Record<string, string>> =>
  connected(app.ownerUrl, async (client) => {
    const { rows } = await client.query<{ table: string; column: string }>(`
      select table_name as table, column_name as column from information_schema.columns
      join pg_class c on c.oid = format('%I.%I', table_schema, table_name)::regclass and c.relkind in ('r', 'p') and not c.relispartition
      where table_schema = 'public' and (column_name in ('workspace_id', 'agency_id') or (table_name = 'workspaces' and column_name = 'id'))`);
    const digests: Record<string, string> = {};
    for (const { table, column } of rows) {
      const owner = column === 'agency_id' ? agencyId : workspace.id;
      // When a key was last used is recorded about the caller.
      const found = await client.query<{ row: string }>(
        `select (to_jsonb(t) - 'last_used_at')::text as row from "${table}" t where "${column}" = $1 order by 1`,
        [owner],
      );
      const digest = createHash('sha256')
        .update(found.rows.map(({ row }) => row).join('\n'))
        .digest('hex');
      digests[`${table} by ${column}`] = `${found.rows.length} ${digest}`;
    }
    return digests;
  });

const forgetRates = (): Promise<unknown> =>
  connected(app.ownerUrl, (client) => client.query('delete from rate_limits'));

const AT_ONCE = 8;
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** What betrays a world wherever it stands. */
const markersOf = ({ workspace, person, messages, ...planted }: World): string[] => [
  person.phone,
  person.phone.slice(2),
  person.email,
  workspace.id,
  workspace.key,
  ...Object.values(messages),
  planted.lineId,
  planted.listId,
  planted.importId,
  planted.leadId,
  planted.otherLeadId,
  planted.campaignId,
  planted.replyId,
];

describe('what a tenant is sent and what is stored for it', () => {
  const worlds = () => [
    { world: mine, other: theirs, receiver: receivers.mine },
    { world: theirs, other: mine, receiver: receivers.theirs },
  ];

  it('names no contact of another tenant in any table, file or workflow history', async () => {
    for (const { world, other } of worlds()) {
      const { phone, email } = other.person;
      expect(await findTraces(app, world.workspace.id, [phone, phone.slice(2), email])).toEqual([]);
    }
  });

  it('names nothing of another tenant in a webhook or an email', async () => {
    for (const { world, other, receiver } of worlds()) {
      const foreign = markersOf(other);
      const answer = await fetch(`${app.url}/simulated/mail?to=${world.workspace.ownerId}@example.test`);
      const { messages: mails } = (await answer.json()) as { messages: object[] };
      expect(mails.length).toBeGreaterThan(0);
      expect(receiver.received.length).toBeGreaterThan(5);
      const texts = [...mails, ...receiver.received].map((sent) => JSON.stringify(sent));
      expect(texts.filter((text) => foreign.some((marker) => text.includes(marker)))).toEqual([]);
      expect(texts.filter((text) => markersOf(world).some((marker) => text.includes(marker)))).not.toEqual(
        [],
      );
    }
  });

  it('is reached by no link that is made from the link of another file', async () => {
    const [own, other] = [new URL(mine.uploadUrl), new URL(theirs.uploadUrl)];
    const status = async (pathname: string, search: string): Promise<number> =>
      (await fetch(new URL(pathname + search, app.url))).status;
    expect(await status(other.pathname, other.search)).toBe(200);
    expect(await status(other.pathname, own.search)).toBe(403);
    const [, , workspaceId = '', attachmentId = '', name = ''] = other.pathname.split('/');
    const [, , ownWorkspace = '', ownAttachment = ''] = own.pathname.split('/');
    expect(await status(`/attachments/${workspaceId}/${ownAttachment}/${name}`, own.search)).toBe(403);
    expect(await status(`/attachments/${ownWorkspace}/${attachmentId}/${name}`, own.search)).toBe(403);
  });
});

describe('what a request names of another tenant', () => {
  const send = async (kind: CredentialKind | null, reference: Reference, values: readonly string[]) => {
    const credential = kind && mine.credentials[kind];
    const request = requestFor(reference, values, mine);
    return shapeOf(await call(front.url, reference.route, credential, request), values);
  };

  it.each([null, ...CREDENTIALS])(
    'is answered as if it did not exist, and left as it is, with %s',
    async (kind) => {
      await forgetRates();
      const before = await digestOf(theirs);
      const wrong: string[] = [];
      await eachOf(references, async (reference) => {
        const expected = await send(kind, reference, valuesIn(reference, theirs).map(absent));
        const shape = await send(kind, reference, valuesIn(reference, theirs));
        if (shape !== expected) wrong.push(`${nameOf(reference)}: ${shape} instead of ${expected}`);
      });
      expect(wrong).toEqual([]);
      expect(await digestOf(theirs)).toEqual(before);
    },
  );

  it("is answered otherwise when it is the tenant's own", async () => {
    await forgetRates();
    const alike: string[] = [];
    for (const reference of references.filter(isControlled)) {
      const { caller, credential } = reference.route;
      const kinds = caller === 'agency' ? OWN.agency : OWN.workspace;
      const kind = kinds[credential === 'session' ? 1 : 0];
      const values = valuesIn(reference, mine);
      const expected = await send(kind, reference, values.map(absent));
      if ((await send(kind, reference, values)) === expected) alike.push(`${nameOf(reference)}: ${expected}`);
    }
    expect(alike).toEqual([]);
  });

  it('is in no log, nor are the credentials', async () => {
    const [asked, worked] = [logOf('api/server.ts'), logOf('workers/worker.ts')].map((log) =>
      readFileSync(log, 'utf8'),
    );
    expect(asked?.split('\n').length).toBeGreaterThan(references.length);
    for (const { importId } of [mine, theirs]) expect(worked).toContain(importId);
    const secret = [mine, theirs].flatMap(({ person, credentials }) => [
      ...traces(person),
      ...Object.values(credentials).map((authorization) => authorization.slice('Bearer '.length)),
    ]);
    expect(secret.filter((text) => [asked, worked].some((log) => log?.includes(text)))).toEqual([]);
  });

  it('is answered as if it did not exist to a client of the same agency', async () => {
    // From now on both are clients of one agency.
    await connected(app.ownerUrl, (client) =>
      client.query('update workspaces set agency_id = $1 where id = $2', [
        mine.agencyId,
        theirs.workspace.id,
      ]),
    );
    await forgetRates();
    const before = await digestOf(theirs);
    const wrong: string[] = [];
    for (const kind of ['workspace key', "console's session"] as const)
      await eachOf(references, async (reference) => {
        const expected = await send(kind, reference, valuesIn(reference, theirs).map(absent));
        const shape = await send(kind, reference, valuesIn(reference, theirs));
        if (shape !== expected) wrong.push(`${nameOf(reference)}: ${shape} instead of ${expected}`);
      });
    expect(wrong).toEqual([]);
    expect(await digestOf(theirs)).toEqual(before);
  });
});
/** Answers that do not depend on whose a thing is, and why. */
const ALIKE: Record<string, string> = {
  createCrmConnection: 'the CRM is asked first (test/end-to-end/crm)',
  checkAvailabilityRoundRobin: 'the carrier knows of an address, not whose contact it is',
  agencyId: 'reserved, and refused whatever it says',
  'resolveAutoReply replyToMessageId': 'read once an open draft is approved',
};
/**
 * That another tenant's path is a 404, while its own is not, is tested above. The endpoints of test mode refuse all live
 * credentials.
 */
const isControlled = ({ route, in: where, names }: Reference): boolean =>
  (where === 'query' || where === 'body') &&
  route.mode !== 'test' &&
  ![route.id, ...names.flatMap((name) => [name, `${route.id} ${name}`])].some((name) =>
    Object.hasOwn(ALIKE, name),
  );
const OWN = {
  workspace: ['workspace key', "console's session"],
  agency: ['agency key', "agency owner's session"],
} as const;

describe('a query that runs for the wrong workspace', () => {
  /** What a function finds, without ids and times, and how many rows it writes; or why it fails. */
  async function outcomeOf({ call }: TenantFunction, session: string, workspaceId: string): Promise<string> {
    const undo = new Error('undo');
    let outcome = '';
    await withTenant(app.pools, session, async (db) => {
      const wrong = Object.assign(db, { workspaceId, apart: db }) as TenantDb;
      // Counts of earlier transactions of the connection may not have been reported yet.
      const written = (): Promise<number> =>
        db.oneFirst(sql.type(z.object({ rows: z.int() }))`
          select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int "rows" from pg_stat_xact_user_tables`);
      const before = await written();
      const found = await call(wrong, theirs);
      outcome = `${JSON.stringify(found, shown)}, ${(await written()) - before} rows written`;
      throw undo;
    }).catch((error: unknown) => {
      if (error !== undo) outcome = error instanceof Error ? error.message : String(error);
    });
    return outcome
      .replaceAll(workspaceId, '<workspace>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{24}/g, '<new>');
  }
  const shown = (_: string, value: unknown): unknown =>
    value instanceof Map || value instanceof Set
      ? [...value]
      : typeof value === 'bigint'
        ? String(value)
        : value;

  it('finds and changes nothing of it, in any function of the database', async () => {
    const functions = await tenantFunctions();
    expect(functions.length).toBeGreaterThan(200);
    const [leaks, controls]: string[][] = [[], []];
    const nobody = newWorkspaceId();
    for (const one of functions) {
      const expected = await outcomeOf(one, mine.workspace.id, nobody);
      const outcome = await outcomeOf(one, mine.workspace.id, theirs.workspace.id);
      if (outcome !== expected) leaks?.push(`${one.name}: ${outcome} instead of ${expected}`);
      const own = await outcomeOf(one, theirs.workspace.id, theirs.workspace.id);
      if (own !== expected) controls?.push(one.name);
    }
    expect(leaks).toEqual([]);
    // So many find or change something when they run for the right one.
    expect(controls?.length).toBeGreaterThan(120);
  });
});
