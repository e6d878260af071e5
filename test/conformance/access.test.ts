import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { AGENCY_ENDPOINTS } from '#api/auth/authenticate.ts';
import { ERRORS, type ErrorCode } from '#api/http/errors.ts';
import { errorCodes } from '#api/http/openapi.ts';
import { scopesOf } from '#api/http/scopes.ts';
import type { TenantRoute } from '#api/http/route.ts';
import { newId } from '#domain/base/ids.ts';
import { KEY_SCOPES, type KeyScope } from '#domain/accounts/key-scope.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import type { ApiResponse } from '#test/support/client.ts';
import { createAgency, createKey, createWorkspace, insertRow } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { call, tenantRoutes } from './requests.ts';

type Kind = 'workspace' | 'admin-session' | 'agency' | 'owner-session';
/** Routes for users of a workspace in any role: they refuse keys, and treat sessions as other routes do. */
const isOfUsers = ({ caller, credential, role }: TenantRoute): boolean =>
  caller === 'workspace' && credential === 'session' && role === undefined;
const kindOf = ({ caller, credential }: TenantRoute): Kind => {
  if (credential === 'session') return caller === 'agency' ? 'owner-session' : 'admin-session';
  return caller;
};

type Rules = Record<Kind, ErrorCode | null>;

/** The error code of each kind of endpoint for each kind of credential; null if it accepts the credential. */
const RULES: Record<string, Rules> = {
  'no credential': all('UNAUTHORIZED'),
  'an unknown workspace key': all('UNAUTHORIZED'),
  'a mistyped workspace key': all('UNAUTHORIZED'),
  'an unknown agency key': all('UNAUTHORIZED'),
  'an unknown session token': all('UNAUTHORIZED'),
  'a session token with a changed signature': all('UNAUTHORIZED'),
  'an expired session token': all('UNAUTHORIZED'),
  'a revoked workspace key': all('UNAUTHORIZED'),
  'an expired workspace key': all('UNAUTHORIZED'),
  'a revoked agency key': all('UNAUTHORIZED'),
  'an expired agency key': all('UNAUTHORIZED'),
  'another scheme': all('UNAUTHORIZED'),
  'an agency key by Basic': all('UNAUTHORIZED'),
  'a session token by Basic': all('UNAUTHORIZED'),
  'a workspace key': workspaceKey(),
  'a workspace key by Basic': workspaceKey(),
  'a workspace key by Basic with a password': workspaceKey(),
  'an agency key': {
    workspace: 'AGENCY_KEY_WRONG_ENDPOINT',
    'admin-session': 'SESSION_REQUIRED',
    agency: null,
    'owner-session': 'SESSION_REQUIRED',
  },
  'a key of a deactivated agency': {
    workspace: 'AGENCY_KEY_WRONG_ENDPOINT',
    'admin-session': 'SESSION_REQUIRED',
    agency: 'NOT_AN_AGENCY',
    'owner-session': 'SESSION_REQUIRED',
  },
  'the session of the owner': all(null),
  'the session of a co-admin who is a member': {
    workspace: null,
    'admin-session': 'ADMIN_REQUIRED',
    agency: null,
    'owner-session': 'AGENCY_OWNER_REQUIRED',
  },
  'the session of a member': {
    workspace: null,
    'admin-session': 'ADMIN_REQUIRED',
    agency: 'NOT_AN_AGENCY',
    'owner-session': 'NOT_AN_AGENCY',
  },
  'a session of somebody else': {
    workspace: 'UNAUTHORIZED',
    'admin-session': 'ADMIN_REQUIRED',
    agency: 'NOT_AN_AGENCY',
    'owner-session': 'NOT_AN_AGENCY',
  },
  'the session of the owner of a deactivated agency': {
    workspace: null,
    'admin-session': null,
    agency: 'NOT_AN_AGENCY',
    'owner-session': 'NOT_AN_AGENCY',
  },
  'a session without a workspace': {
    workspace: 'UNAUTHORIZED',
    'admin-session': 'UNAUTHORIZED',
    agency: 'NOT_AN_AGENCY',
    'owner-session': 'NOT_AN_AGENCY',
  },
  'a session of an unknown workspace': {
    workspace: 'UNAUTHORIZED',
    'admin-session': 'UNAUTHORIZED',
    agency: 'NOT_AN_AGENCY',
    'owner-session': 'NOT_AN_AGENCY',
  },
};

function all(code: ErrorCode | null): Rules {
  return { workspace: code, 'admin-session': code, agency: code, 'owner-session': code };
}
function workspaceKey(): Rules {
  return {
    workspace: null,
    'admin-session': 'SESSION_REQUIRED',
    agency: 'AGENCY_KEY_REQUIRED',
    'owner-session': 'SESSION_REQUIRED',
  };
}

/** The credentials of users who are not admins of their workspace. */
const MEMBERS = [
  'the session of a member',
  'the session of a co-admin who is a member',
  'a session of somebody else',
];

const REFUSALS = new Set([
  ...Object.values(RULES).flatMap((rule) => Object.values(rule)),
  'INSUFFICIENT_SCOPE',
]);

let app: OwnApp;
let credentials: Record<string, string | null>;

beforeAll(async () => {
  app = await startTestApp({ worker: false, environment: { FAILED_ATTEMPTS_PER_MINUTE: '100000' } });
  const workspace = await createWorkspace(app);
  const [agency, former] = await Promise.all([createAgency(app), createAgency(app, { is_active: false })]);
  const [coAdmin, member] = [`user_${newId()}`, `user_${newId()}`];
  for (const id of [coAdmin, member]) await insertRow(app, 'users', { id, email: `${id}@example.test` });
  for (const id of [coAdmin, member])
    await insertRow(app, 'workspace_members', {
      workspace_id: workspace.id,
      user_id: id,
      role: 'org:member',
    });
  await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: coAdmin, role: 'co_admin' });
  const past = new Date(Date.now() - 1000);
  const session = async (
    userId: string,
    role: string | null,
    organizationId: string | null = workspace.id,
    expiresIn = '1 hour',
  ) => bearer(await signIn(app, { userId, organizationId, role, expiresIn }));
  const signed = await session(agency.ownerId, 'org:admin');
  credentials = {
    'no credential': null,
    'an unknown workspace key': bearer(`svc_sk_${'x'.repeat(43)}`),
    'a mistyped workspace key': bearer(
      `${workspace.key.slice(0, -1)}${workspace.key.endsWith('a') ? 'b' : 'a'}`,
    ),
    'an unknown agency key': bearer(`svcagency_${'x'.repeat(43)}`),
    'an unknown session token': bearer('not.a.token'),
    'a session token with a changed signature': `${signed.slice(0, -10)}${signed.slice(-10) === 'AAAAAAAAAA' ? 'BBBBBBBBBB' : 'AAAAAAAAAA'}`,
    // Beyond the tolerance for clock skew.
    'an expired session token': await session(agency.ownerId, 'org:admin', workspace.id, '-10 minutes'),
    'a revoked workspace key': bearer(await createKey(app, 'workspace', workspace.id, { revoked_at: past })),
    'an expired workspace key': bearer(await createKey(app, 'workspace', workspace.id, { expires_at: past })),
    'a revoked agency key': bearer(await createKey(app, 'agency', agency.id, { revoked_at: past })),
    'an expired agency key': bearer(await createKey(app, 'agency', agency.id, { expires_at: past })),
    'another scheme': `Digest ${workspace.key}`,
    'an agency key by Basic': basic(agency.key),
    'a session token by Basic': basic(signed.slice('Bearer '.length)),
    'a workspace key': bearer(workspace.key),
    'a workspace key by Basic': basic(workspace.key),
    'a workspace key by Basic with a password': basic(workspace.key, 'ignored'),
    'an agency key': bearer(agency.key),
    'a key of a deactivated agency': bearer(former.key),
    'the session of the owner': signed,
    'the session of a co-admin who is a member': await session(coAdmin, 'org:member'),
    'the session of a member': await session(member, 'org:member'),
    'a session of somebody else': await session(`user_${newId()}`, 'org:member'),
    'the session of the owner of a deactivated agency': await session(former.ownerId, 'org:admin'),
    'a session without a workspace': await session(member, null, null),
    'a session of an unknown workspace': await session(member, 'org:admin', `org_${newId()}`),
  };
});
afterAll(() => app.stop());

const bearer = (token: string): string => `Bearer ${token}`;
const basic = (user: string, password = ''): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

describe('every endpoint', () => {
  it.each(Object.entries(RULES))('accepts or refuses %s as documented', async (name, rules) => {
    const wrong = await Promise.all(
      tenantRoutes.map(async (route) => {
        const expected = MEMBERS.includes(name)
          ? ruleForMember(route, rules)
          : isOfUsers(route) && rules['admin-session'] !== 'SESSION_REQUIRED'
            ? rules.workspace
            : rules[kindOf(route)];
        const response = await call(app.url, route, credentials[name] ?? null);
        const problem =
          expected === null ? problemOfAccess(route, response) : problemOfRefusal(route, response, expected);
        return problem === null ? [] : [`${route.method} ${route.path}: ${problem}`];
      }),
    );
    expect(wrong.flat()).toEqual([]);
  });
});

function ruleForMember(route: TenantRoute, rules: Rules): ErrorCode | null {
  const { credential, role, caller } = route;
  if (caller === 'agency') return role === 'owner' ? rules[kindOf(route)] : rules.agency;
  if (role !== 'admin') return rules.workspace;
  return credential === 'session' ? rules['admin-session'] : 'ADMIN_REQUIRED';
}

/** Accepted: the response to an empty request is no refusal of the credential, unless the route declares that code. */
function problemOfAccess(route: TenantRoute, { status, body }: ApiResponse): string | null {
  const declared = (route.errors as string[] | undefined)?.includes(body.code) ?? false;
  return status === 401 || (REFUSALS.has(body.code) && !declared)
    ? `refused with ${status} ${body.code}`
    : null;
}

function problemOfRefusal(
  route: TenantRoute,
  { status, headers, body }: ApiResponse,
  expected: ErrorCode,
): string | null {
  if (status !== ERRORS[expected][0] || body.code !== expected)
    return `${status} ${body.code} instead of ${expected}`;
  if (!errorCodes(route).includes(expected)) return `${expected} is not in its document`;
  if (expected === 'UNAUTHORIZED' && body.error !== 'Unauthorized') return `the error text is ${body.error}`;
  if (status === 401 && headers.get('www-authenticate') !== 'Bearer') return 'it names no scheme';
  if (expected !== 'AGENCY_KEY_WRONG_ENDPOINT') return null;
  const lists = JSON.stringify(body.agencyEndpoints) === JSON.stringify(AGENCY_ENDPOINTS);
  const [prefix = ''] = route.path.split('{');
  return lists && String(body.requestedPath).startsWith(prefix)
    ? null
    : 'the body does not say which endpoints and which path';
}

// Callers compare the list with the documented one, so an endpoint that is not in it takes sessions only.
test('agency keys are accepted by the eleven documented endpoints and listed in refusals', () => {
  const open = tenantRoutes
    .filter((route) => kindOf(route) === 'agency')
    .map(({ method, path }) => `${method} ${path}`);
  const documented = [
    'GET /api/agency/subaccounts',
    'POST /api/agency/subaccounts',
    'GET /api/agency/lines',
    'POST /api/agency/lines',
    'GET /api/agency/overview',
    'GET /api/agency/email-preferences',
    'POST /api/agency/email-preferences',
    'GET /api/agency/webhooks',
    'POST /api/agency/webhooks',
    'DELETE /api/agency/webhooks/{id}',
    'POST /api/agency/billing/subscribe',
  ];
  expect(AGENCY_ENDPOINTS).toEqual(documented);
  expect(open.toSorted()).toEqual(documented.toSorted());
});

test('only admins may change webhooks, carriers, the SMS fallback, the quiet hours and the team', () => {
  const reserved = tenantRoutes
    .filter(({ credential, role }) => role === 'admin' && credential !== 'session')
    .map(({ id }) => id);
  expect(reserved.toSorted()).toEqual([
    'connectLineCarrier',
    'createCrmConnection',
    'createRule',
    'createWebhook',
    'deleteInvitation',
    'deleteRule',
    'deleteWebhook',
    'endLineReputationOverride',
    'getLineCarrier',
    'inviteToTeam',
    'listRequests',
    'overrideLineReputation',
    'pauseLine',
    'putWorkspace',
    'removeTeamMember',
    'resetTestMode',
    'resumeLine',
    'rotateWebhookSecret',
    'setFrequencyCap',
    'setOpeningHours',
    'setQuietHours',
    'testCarrierSettings',
    'testLineCarrier',
    'updateFallbackConfig',
    'updateRule',
    'updateWebhook',
    'updateWorkspace',
  ]);
});

describe('a key with scopes', () => {
  const keyWith = async (scopes: readonly KeyScope[]): Promise<string> => {
    const { id } = await createWorkspace(app);
    return bearer(await createKey(app, 'workspace', id, { scopes: `{${scopes.join(',')}}` }));
  };
  const keyRoutes = tenantRoutes.filter((route) => scopesOf(route).length > 0);

  it.each(KEY_SCOPES)('that is only `%s` passes the endpoints that need it', async (scope) => {
    const key = await keyWith([scope]);
    const wrong = await Promise.all(
      keyRoutes
        .filter((route) => scopesOf(route).includes(scope))
        .map(async (route) => {
          const problem = problemOfAccess(route, await call(app.url, route, key));
          return problem === null ? [] : [`${route.id}: ${problem}`];
        }),
    );
    expect(wrong.flat()).toEqual([]);
  });

  it('that has all but the needed ones is refused by every endpoint, which names what it needs', async () => {
    const wrong: string[] = [];
    for (const [needed, routes] of Map.groupBy(keyRoutes, (route) => scopesOf(route).join(' '))) {
      const key = await keyWith(KEY_SCOPES.filter((scope) => !needed.split(' ').includes(scope)));
      for (const route of routes) {
        const { body, ...response } = await call(app.url, route, key);
        const problem = problemOfRefusal(route, { ...response, body }, 'INSUFFICIENT_SCOPE');
        if (problem !== null) wrong.push(`${route.id}: ${problem}`);
        if (body.required !== scopesOf(route)[0]) wrong.push(`${route.id}: requires ${body.required}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('finds in the OpenAPI document which scope each endpoint needs', async () => {
    const response = await fetch(`${app.url}/openapi.json`);
    const { paths } = (await response.json()) as {
      paths: Record<string, Record<string, Record<string, unknown>>>;
    };
    for (const route of tenantRoutes) {
      const { description, ['x-required-scopes']: required } =
        paths[route.path]?.[route.method.toLowerCase()] ?? {};
      const expected = scopesOf(route);
      expect(required, route.id).toEqual(expected.length === 0 ? undefined : expected);
      for (const scope of expected) expect(description, route.id).toContain(`\`${scope}\``);
    }
  });
});

test('a revoked key is refused from the next request on', async () => {
  const workspace = await createWorkspace(app);
  const admin = bearer(
    await signIn(app, { userId: workspace.ownerId, organizationId: workspace.id, role: 'org:admin' }),
  );
  const find = (id: string): TenantRoute => tenantRoutes.find((route) => route.id === id) as TenantRoute;
  const made = await call(app.url, find('createKey'), admin, { body: { name: 'Short-lived' } });
  const use = () => call(app.url, find('listLines'), bearer(made.body.key));
  expect((await use()).status).toBe(200);
  expect((await call(app.url, find('revokeKey'), admin, { path: `/api/keys/${made.body._id}` })).status).toBe(
    200,
  );
  expect((await use()).status).toBe(401);
});
