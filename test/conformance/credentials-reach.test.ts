import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { routes } from '#api/routes.ts';
import type { Route } from '#api/http/route.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { isUnlimited, KEY_SCOPES, type KeyLimits, type KeyScope } from '#domain/accounts/key-scope.ts';
import { connected } from '#db/connection/connected.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace, insertRow } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { openTestMode } from '#test/support/test-mode.ts';

/**
 * No credential makes one that lives longer or reaches further than itself: every route is called with every kind of credential
 * and with all that its schema accepts, and what that has made is compared with the credential. Routes come from the route table.
 */
const OPERATOR = newUserId();

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({
    worker: false,
    environment: { FAILED_ATTEMPTS_PER_MINUTE: '1000000', OPERATORS: OPERATOR },
  });
});
afterAll(() => app.stop());

/** The rows that let somebody act, and the columns that say where, as what and for how long. */
const CREDENTIALS: Record<string, readonly string[]> = {
  workspace_keys: ['workspace_id', 'id', 'scopes', 'allowed_ips', 'mode', 'expires_at', 'revoked_at'],
  agency_keys: ['agency_id', 'id', 'expires_at', 'revoked_at'],
  user_sessions: ['workspace_id', 'id', 'user_id', 'role', 'expires_at'],
  console_codes: ['workspace_id', 'hash', 'expires_at'],
  setup_codes: ['hash', 'expires_at'],
  sign_in_links: ['user_id', 'hash', 'expires_at'],
  passkeys: ['user_id', 'id'],
  passkey_challenges: ['user_id', 'challenge'],
  user_identities: ['user_id', 'subject'],
  provider_organizations: ['workspace_id', 'name'],
  workspace_members: ['workspace_id', 'user_id', 'role', 'is_owner'],
  agency_members: ['agency_id', 'user_id', 'role'],
  invitations: ['workspace_id', 'id', 'role', 'invited_by_key_id', 'accepted_at'],
  agency_invitations: ['agency_id', 'id', 'accepted_at'],
  webhooks: ['workspace_id', 'id'],
};

/** Tables of 256-bit secrets and their like that let nobody act. A new table belongs here or above. */
const NO_CREDENTIALS = new Set([
  'attachments',
  'event_streams',
  'idempotency_keys',
  'agency_idempotency_keys',
  'record_seals',
]);

type Row = Record<string, unknown> & { table: string };

const SNAPSHOT = Object.entries(CREDENTIALS)
  .map(([table, columns]) => {
    const row = columns.map((column) => `'${column}', ${column}`).join(', ');
    return `select json_build_object('table', '${table}', ${row})::text as row from ${table}`;
  })
  .join(' union all ');

/** What anybody is asked to sign who wants to sign in. */
const isPublic = ({ table, user_id }: Row): boolean => table === 'passkey_challenges' && user_id === null;

async function rowsOf(client: pg.Client): Promise<Map<string, Row>> {
  const { rows } = await client.query<{ row: string }>({ name: 'snapshot', text: SNAPSHOT });
  return new Map(
    rows.map(({ row }): [string, Row] => [row, JSON.parse(row) as Row]).filter(([, row]) => !isPublic(row)),
  );
}

/** Who asks. */
interface Maker {
  name: string;
  token: string;
  /** The workspaces, agency and user whose credentials it may touch. */
  own: { workspaces: readonly string[]; agencyId: string | null; userId: string | null };
  /** @returns why the credential must not have made a row, or, with `isGone`, ended it; null: it may. */
  refuses(row: Row, isGone: boolean): string | null;
}

const BY_MEMBERS = new Set(['passkeys', 'passkey_challenges']);
const BY_ADMINS = new Set([...BY_MEMBERS, 'workspace_keys', 'invitations', 'webhooks', 'workspace_members']);
const BY_OWNERS = new Set([
  'agency_keys',
  'agency_invitations',
  'agency_members',
  'webhooks',
  'invitations',
  ...BY_MEMBERS,
]);

const among =
  (tables: ReadonlySet<string>): Maker['refuses'] =>
  ({ table }) =>
    tables.has(table) ? null : `makes ${table}`;

/** What a key may make: webhooks, and invitations that end with it and reach no further. */
const byKey =
  (id: string, limits: KeyLimits): Maker['refuses'] =>
  ({ table, role, invited_by_key_id }, isGone) => {
    if (!limits.scopes.includes('manage')) return `makes or ends ${table} without manage`;
    if (table === 'webhooks') return null;
    if (table === 'workspace_members' && isGone && role === 'org:member') return null;
    if (table !== 'invitations') return `makes or ends ${table}`;
    if (isGone) return null;
    if (role === 'org:admin' && !isUnlimited(limits)) return 'invites an admin';
    return invited_by_key_id === id ? null : 'its invitation does not end with it';
  };

const KEYS: Record<string, Partial<KeyLimits>> = {
  'a key that nothing narrows': {},
  'a key that expires': { expires: true },
  'a key of some networks': { allowedIps: ['127.0.0.0/8', '::1'] },
  ...Object.fromEntries(KEY_SCOPES.map((scope) => [`a key with ${scope}`, { scopes: [scope] }])),
};

const PERSONS = ['member', 'admin', 'co-admin', 'agency owner', 'operator'] as const;
const KINDS = [...Object.keys(KEYS), 'a test key', 'an agency key', ...PERSONS];

/** A workspace with an agency, with one of each credential, and the maker of a kind in it. */
async function newWorld(kind: string): Promise<{ maker: Maker; ids: Record<string, string> }> {
  const agency = await createAgency(app);
  const workspace = await createWorkspace(app, { agency_id: agency.id });
  const user = async (): Promise<string> => {
    const id = newUserId();
    await insertRow(app, 'users', { id, email: `${id}@example.test` });
    return id;
  };
  const member = await user();
  const [otherAdmin, coAdmin] = [await user(), await user()];
  for (const [userId, role] of [
    [member, 'org:member'],
    [otherAdmin, 'org:admin'],
  ])
    await insertRow(app, 'workspace_members', {
      workspace_id: workspace.id,
      user_id: userId ?? '',
      role: role ?? '',
    });
  await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: coAdmin, role: 'co_admin' });
  const session = (userId: string, role: string | null) =>
    signIn(app, { userId, organizationId: role === null ? null : workspace.id, role });
  const admin = apiClient(app.url, await session(workspace.ownerId, 'org:admin'));
  const owner = apiClient(app.url, await session(agency.ownerId, null));
  const made = async (by: ApiClient, path: string, body: object) => {
    const answer = await by('POST', path, body);
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  const other = await made(admin, '/api/keys', { name: 'Other' });
  await made(admin, '/api/team/invite', { email: `${newId()}@example.test`, role: 'org:admin' });
  const [invitation] = (await admin('GET', '/api/team/invitations')).body.invitations;
  const agencyKey = await made(owner, '/api/agency/keys', { name: 'Other' });
  const webhook = await made(admin, '/api/webhooks', {
    url: 'http://127.0.0.1:9/',
    events: ['message.sent'],
  });
  const ids = {
    '/api/team/': member,
    '/api/keys/': other._id,
    '/api/team/invitations/': invitation._id,
    '/api/agency/keys/': agencyKey._id,
    '/api/agency/admins/': coAdmin,
    '/api/webhooks/': webhook.webhook?._id ?? webhook._id,
  };
  const own = { workspaces: [workspace.id], agencyId: agency.id, userId: null as string | null };
  const person = async (
    userId: string,
    role: string | null,
    tables: ReadonlySet<string>,
  ): Promise<Maker> => ({
    name: kind,
    token: await session(userId, role),
    own: { ...own, userId },
    refuses: among(tables),
  });
  const makers: Record<string, () => Promise<Maker>> = {
    member: () => person(member, 'org:member', BY_MEMBERS),
    admin: () => person(workspace.ownerId, 'org:admin', BY_ADMINS),
    'co-admin': () => person(coAdmin, null, new Set([...BY_MEMBERS, 'webhooks', 'invitations'])),
    'agency owner': () => person(agency.ownerId, null, BY_OWNERS),
    operator: async () => ({
      ...(await person(OPERATOR, null, new Set<string>())),
      own: { workspaces: [], agencyId: null, userId: OPERATOR },
    }),
    'an agency key': async () => ({
      name: kind,
      token: agency.key,
      own,
      refuses: among(new Set(['webhooks', 'invitations'])),
    }),
    'a test key': async () => {
      const { id, key } = await openTestMode(app, workspace);
      // Of its twin, and of that alone.
      return {
        name: kind,
        token: key,
        own: { ...own, workspaces: [id], agencyId: null },
        refuses: among(new Set(['webhooks'])),
      };
    },
  };
  const make = makers[kind];
  if (make) return { maker: await make(), ids };
  const limits: KeyLimits = { scopes: KEY_SCOPES, allowedIps: null, expires: false, ...KEYS[kind] };
  const key = await made(admin, '/api/keys', {
    name: kind,
    scopes: limits.scopes as KeyScope[],
    ...(limits.allowedIps && { allowedIps: limits.allowedIps }),
    ...(limits.expires && { expiresInDays: 1 }),
  });
  return {
    maker: { name: kind, token: key.key, own: { ...own, agencyId: null }, refuses: byKey(key._id, limits) },
    ids,
  };
}

interface Schema {
  type?: string;
  format?: string;
  pattern?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** A value of a schema that reaches as far as possible. @param choice which of alternatives to take. */
function farthest(schema: Schema, choice: number, isComplete: boolean, name = ''): unknown {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return farthest(choices[choice % choices.length] ?? {}, choice, isComplete, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[choice % schema.enum.length];
  switch (schema.type ?? 'string') {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([field]) => isComplete || (schema.required ?? []).includes(field))
          .map(([field, own]) => [field, farthest(own, choice, isComplete, field)]),
      );
    case 'array':
      return schema.items?.enum ?? [farthest(schema.items ?? {}, choice, isComplete, name)];
    case 'integer':
    case 'number':
      return schema.maximum !== undefined && schema.maximum < 1e6 ? schema.maximum : (schema.minimum ?? 1);
    case 'boolean':
      return choice % 2 === 0;
    default:
      return textOf(schema, name);
  }
}

/** What a schema checks by code is in its name. */
function textOf({ format, pattern = '' }: Schema, name: string): string {
  if (format === 'email' || /email/i.test(name)) return `${newId()}@example.test`;
  if (format === 'uri' || /url$/i.test(name)) return 'http://127.0.0.1:9/';
  if (format === 'date-time') return new Date(Date.now() + 30 * 86_400_000).toISOString();
  return pattern.includes('{24}') ? newId() : 'active';
}

const CHOICES = 3;

/** Each takes longer to write than a request with it. */
const schemas = new Map<z.ZodType, Schema>();

function schemaOf(declared: z.ZodType): Schema {
  const known = schemas.get(declared);
  if (known) return known;
  const written = z.toJSONSchema(declared, {
    io: 'input',
    unrepresentable: 'any',
    metadata: z.registry(),
  }) as Schema;
  schemas.set(declared, written);
  return written;
}

function inputsOf(declared: unknown): unknown[] {
  if (!(declared instanceof z.ZodType)) return [undefined];
  const schema = schemaOf(declared);
  const values = Array.from({ length: CHOICES }, (_, choice) => [
    farthest(schema, choice, true),
    farthest(schema, choice, false),
  ]).flat();
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Calls a route with everything that its schema accepts. @returns the statuses of the answers. */
async function tryAll(route: Route, token: string, ids: Record<string, string>): Promise<number[]> {
  const path = route.path.replaceAll(/\{\*?\w+\}/g, (_, at: number) =>
    encodeURIComponent(ids[route.path.slice(0, at)] ?? newId()),
  );
  const statuses: number[] = [];
  const queries = inputsOf('query' in route ? route.query : undefined).map((query) =>
    new URLSearchParams(
      Object.entries(query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString(),
  );
  for (const query of new Set(['', ...(route.method === 'DELETE' ? queries : [])]))
    for (const body of inputsOf('body' in route ? route.body : undefined)) {
      const answer = await fetch(`${app.url}${path}?${query}`, {
        method: route.method,
        redirect: 'manual',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', origin: app.url },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      await answer.body?.cancel();
      statuses.push(answer.status);
    }
  return statuses;
}

/** Changes last of all those that end something. Streams do not end, and the simulators are no part of the product. */
const changing = routes
  .filter(({ method, id }) => !['GET', 'OPTIONS'].includes(method) && !id.startsWith('simulated'))
  .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));
const reading = routes.filter(
  ({ method, produces, id }: Route & { produces?: string }) =>
    method === 'GET' && produces !== 'text/event-stream' && !id.startsWith('simulated'),
);

/** Routes that are called at the same time. Those that end something come alone: another would find nothing. */
function* chunksOf(all: readonly Route[]): Generator<Route[]> {
  let chunk: Route[] = [];
  for (const route of all) {
    if (route.method === 'DELETE' || chunk.length === 12) {
      if (chunk.length > 0) yield chunk;
      chunk = [];
    }
    chunk.push(route);
  }
  yield chunk;
}

const madeBy = new Map<string, Set<string>>();

describe.each(KINDS)('%s', (kind) => {
  it('makes and ends no credential that lives longer or reaches further', async () => {
    const { maker, ids } = await newWorld(kind);
    const wrong = await connected(app.ownerUrl, async (client) => {
      const problems: string[] = [];
      let before = await rowsOf(client);
      for (const together of chunksOf([...reading, ...changing])) {
        await Promise.all(together.map((route) => tryAll(route, maker.token, ids)));
        const after = await rowsOf(client);
        const made = [...after].filter(([key]) => !before.has(key)).map(([, row]) => row);
        const gone = [...before].filter(([key]) => !after.has(key)).map(([, row]) => row);
        for (const [rows, isGone] of [
          [made, false],
          [gone, true],
        ] as const)
          for (const row of rows) {
            if (!isGone && isOfNewClient(row, maker.own)) continue;
            const problem = maker.refuses(row, isGone) ?? elsewhere(row, maker.own);
            if (problem !== null)
              problems.push(
                `${problem} ${JSON.stringify(row)} by one of ${together.map(({ id }) => id).join(' ')}`,
              );
          }
        for (const { table } of made) madeBy.set(table, (madeBy.get(table) ?? new Set()).add(kind));
        before = after;
      }
      return problems;
    });
    expect(wrong).toEqual([]);
  });
});

/** An agency makes workspaces, each with a key and an owner. It is what a subaccount is for. */
const isOfNewClient = ({ table, workspace_id }: Row, { agencyId, workspaces }: Maker['own']): boolean =>
  agencyId !== null &&
  ['workspace_keys', 'workspace_members'].includes(table) &&
  !workspaces.some((id) => id === workspace_id);

/** What belongs to somebody else. A workspace that an agency has just made is its own. */
function elsewhere({ table, workspace_id, agency_id, user_id }: Row, own: Maker['own']): string | null {
  if (table === 'invitations' && own.agencyId !== null) return null;
  if (table === 'webhooks' && own.agencyId !== null) return null;
  if (
    workspace_id !== undefined &&
    !own.workspaces.some((id) => id === workspace_id) &&
    own.agencyId === null
  )
    return 'in another workspace:';
  if (agency_id !== undefined && agency_id !== own.agencyId) return 'in another agency:';
  if (BY_MEMBERS.has(table) && user_id !== null && user_id !== own.userId) return "another person's:";
  return null;
}

test('is a comparison with credentials that are made', () => {
  const by = (table: string) => [...(madeBy.get(table) ?? [])].toSorted();
  expect(by('workspace_keys')).toEqual(['admin', 'agency owner', 'an agency key', 'co-admin']);
  expect(by('agency_keys')).toEqual(['agency owner']);
  expect(by('invitations')).toEqual(
    expect.arrayContaining(['admin', 'a key that nothing narrows', 'a key with manage']),
  );
  expect(by('webhooks')).toEqual(expect.arrayContaining(['admin', 'a key with manage', 'a test key']));
  expect(by('passkey_challenges')).toEqual(expect.arrayContaining(['member', 'admin']));
});

test('compares every table that holds a credential', async () => {
  const found = await connected(app.ownerUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(`
      select distinct table_name as name from information_schema.columns
      where table_schema = 'public' and table_name !~ '_(p|\\d{8}|default)' and (
        column_name in ('role', 'challenge', 'public_key') or column_name ~ '^(token_)?hash$|secret')`);
    return rows.map(({ name }) => name);
  });
  expect(found.filter((name) => !(name in CREDENTIALS) && !NO_CREDENTIALS.has(name))).toEqual([]);
});
