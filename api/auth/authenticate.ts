import {
  agencyByKey,
  agencyOfUser,
  type Membership,
  touchKey,
  twinById,
  workspaceOfSession,
  workspaceByKey,
} from '#db/queries/accounts/credentials.ts';
import { workspaceOfOrganizations } from '#db/queries/accounts/provider-organizations.ts';
import { withAuth, withSystemShare } from '#db/connection/transactions.ts';
import { apiKeyKind, hashApiKey, isPossibleApiKey } from '#domain/accounts/api-key.ts';
import type { AgencyCaller, Caller, CallerWorkspace, WorkspaceCaller } from '#domain/accounts/caller.ts';
import { isInIpRanges } from '#domain/base/ip-range.ts';
import { hasScope, type KeyRestrictions } from '#domain/accounts/key-scope.ts';
import { isSecretToken } from '#domain/base/secret-token.ts';
import { lowerRole } from '#domain/accounts/team.ts';
import { ApiError } from '../http/errors.ts';
import type { TenantRoute } from '../http/route.ts';
import { scopesOf } from '../http/scopes.ts';
import type { Services } from '../services.ts';
import { joinByProvider } from './first-session.ts';
import { createRecentlyUsed } from './recently-used.ts';
import { type Session, SessionKeysUnavailable } from './session-token.ts';
import { type CookieRequest, sessionOfCookie, sessionOfToken } from './user-sessions.ts';

/** The endpoints that accept agency keys, listed in the response to a refused request. */
export const AGENCY_ENDPOINTS = [
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
] as const;

/** The access rules of a route. */
type Guarded = Pick<TenantRoute, 'caller' | 'credential' | 'role' | 'scope' | 'method' | 'tag'>;

interface Credential {
  scheme: 'bearer' | 'basic';
  token: string;
}

/** The parts of a request that determine its caller. */
interface CredentialedRequest extends CookieRequest {
  authorization: string;
  path: string;
  /** The client's IP address. */
  ip(): string;
  /** The header `X-Agency-Id`, which selects one of several agencies; '' if not sent. */
  agencyId: string;
  /** The workspace that the request names, by which a user of an agency selects a client; '' if none. */
  workspaceId: string;
  /** Called with the caller, before it is decided whether access is allowed. */
  identified?: (caller: Caller) => void;
}

type Attempt = Credential & CredentialedRequest;

/**
 * Authenticates a request and checks that the route accepts its kind of credential.
 * @throws UNAUTHORIZED, or the error for a credential that the route does not accept.
 */
export async function authenticate(
  route: Guarded,
  request: CredentialedRequest,
  services: Services,
): Promise<Caller> {
  const credential = readCredential(request.authorization);
  if (!credential) {
    // A request without a credential is not a guess, so it does not count as a failed attempt.
    if (request.sessionId === '') throw new ApiError('UNAUTHORIZED');
    return ofSession(route, request, await sessionOfCookie(request, services), services);
  }
  const keyKind = apiKeyKind(credential.token);
  const attempt = { ...credential, ...request };
  if (keyKind === 'agency') return withAgencyKey(route, attempt, services);
  if (keyKind === 'workspace') return withWorkspaceKey(route, attempt, services);
  return withSession(route, attempt, services);
}

const SESSION_ONLY: Guarded = { caller: 'workspace', credential: 'session', method: 'GET', tag: 'System' };

/**
 * The session of a request, whatever workspace its user is in.
 * @throws UNAUTHORIZED, SESSION_REQUIRED, RATE_LIMITED, UNAVAILABLE
 */
export async function authenticateUser(
  request: CookieRequest & Pick<CredentialedRequest, 'authorization' | 'path'>,
  services: Services,
): Promise<Session> {
  const credential = readCredential(request.authorization);
  // Refuses keys of both kinds; only those that nobody has are failed attempts.
  if (credential && apiKeyKind(credential.token))
    await authenticate(
      SESSION_ONLY,
      { ...request, ip: request.client, agencyId: '', workspaceId: '' },
      services,
    );
  if (credential?.scheme === 'bearer')
    return verifySession(credential.token, request.client(), services, request);
  if (credential || request.sessionId === '') throw new ApiError('UNAUTHORIZED');
  return sessionOfCookie(request, services);
}

/** Counts a failed attempt. @throws UNAUTHORIZED, or RATE_LIMITED after too many from this client. */
async function unauthorized(client: string, { rateLimits }: Services): Promise<never> {
  await rateLimits.countFailure(client);
  throw new ApiError('UNAUTHORIZED');
}

function readCredential(authorization: string): Credential | null {
  const [, scheme = '', value = ''] = /^(bearer|basic) +(\S+)$/i.exec(authorization.trim()) ?? [];
  if (value === '') return null;
  if (scheme.toLowerCase() === 'bearer') return { scheme: 'bearer', token: value };
  // The key is the user name; the password is empty.
  const [user = ''] = Buffer.from(value, 'base64').toString('utf8').split(':');
  return user === '' ? null : { scheme: 'basic', token: user };
}

async function withAgencyKey(
  route: Guarded,
  { scheme, token, path, client, agencyId, identified }: Attempt,
  services: Services,
): Promise<AgencyCaller> {
  const { pools } = services;
  const hash = hashApiKey(token);
  const caller =
    scheme === 'bearer' && isPossibleApiKey(token)
      ? await withAuth(pools, client(), `agency key ${hash}`, (db) => agencyByKey(db, hash))
      : null;
  if (!caller) return unauthorized(client(), services);
  identified?.(caller);
  const where = { agencyEndpoints: AGENCY_ENDPOINTS, requestedPath: path };
  if (route.credential === 'session') throw new ApiError('SESSION_REQUIRED', undefined, where);
  if (route.caller !== 'agency') throw new ApiError('AGENCY_KEY_WRONG_ENDPOINT', undefined, where);
  if (agencyId !== '' && agencyId !== caller.agency.id) throw new ApiError('AGENCY_NOT_FOUND');
  if (!caller.agency.isActive) throw new ApiError('NOT_AN_AGENCY');
  recordUse(hash, client, pools);
  return caller;
}

async function withWorkspaceKey(
  route: Guarded,
  { token, client, ip, workspaceId, identified }: Attempt,
  services: Services,
): Promise<WorkspaceCaller> {
  const { pools, callers } = services;
  if (!isPossibleApiKey(token)) return unauthorized(client(), services);
  const hash = hashApiKey(token);
  const caller = await callers.find(hash, () =>
    withAuth(pools, client(), `workspace key ${hash}`, (db) => workspaceByKey(db, hash)),
  );
  if (!caller) return unauthorized(client(), services);
  identified?.(caller);
  if (route.credential === 'session') throw new ApiError('SESSION_REQUIRED');
  if (route.caller === 'agency') throw new ApiError('AGENCY_KEY_REQUIRED');
  if (workspaceId !== '' && workspaceId !== caller.workspace.id) throw new ApiError('WORKSPACE_NOT_FOUND');
  recordUse(hash, client, pools);
  if (caller.key) requireKey(caller.key, route, ip);
  return caller;
}

/** @throws IP_NOT_ALLOWED, INSUFFICIENT_SCOPE */
function requireKey({ allowedIps, scopes }: KeyRestrictions, route: Guarded, ip: () => string): void {
  if (allowedIps && !isInIpRanges(ip(), allowedIps)) throw new ApiError('IP_NOT_ALLOWED');
  const required = scopesOf(route);
  if (hasScope(scopes, required)) return;
  const text = `The key lacks the scope ${required.join(' or ')}`;
  throw new ApiError('INSUFFICIENT_SCOPE', text, { required: required[0] });
}

const recentlyUsed = createRecentlyUsed();

function recordUse(hash: string, client: () => string, pools: Services['pools']): void {
  if (!recentlyUsed.isDue(hash, Date.now())) return;
  void withAuth(pools, client(), `use of ${hash}`, (db) => touchKey(db, hash)).catch(() => {});
}

async function withSession(route: Guarded, attempt: Attempt, services: Services): Promise<Caller> {
  const { scheme, token, client } = attempt;
  if (scheme !== 'bearer') return unauthorized(client(), services);
  return ofSession(route, attempt, await verifySession(token, client(), services, attempt), services);
}

async function ofSession(
  route: Guarded,
  request: CredentialedRequest,
  named: Session,
  services: Services,
): Promise<Caller> {
  const { workspaceId } = request;
  const lookup = sessionLookup(request, named.userId, services);
  const { organizations } = named;
  const session = organizations
    ? { ...named, organizationId: await lookup.workspaceOf(organizations) }
    : named;
  if (route.caller === 'agency') return agencyCaller(route, request, lookup);
  const isOwn = workspaceId === '' || workspaceId === session.organizationId;
  if (isOwn) return ownCaller(route, request, session, lookup);
  const twin = await lookup.twin(workspaceId);
  if (!twin) return otherCaller(route, request, session, lookup);
  return twinCaller(twin, route, request, session, lookup);
}

/** A caller in a workspace that the session does not name: as its member, if the session is valid for any workspace, or as its agency. */
async function otherCaller(
  route: Guarded,
  request: CredentialedRequest,
  session: Session,
  lookup: SessionLookup,
): Promise<WorkspaceCaller> {
  if (session.ofAnyWorkspace && (await lookup.workspace(request.workspaceId))?.memberRole)
    return ownCaller(route, request, { ...session, organizationId: request.workspaceId }, lookup);
  return clientCaller(request, session, lookup);
}

/** Everybody who may act in a workspace may act in its twin. */
async function twinCaller(
  twin: CallerWorkspace,
  route: Guarded,
  request: CredentialedRequest,
  session: Session,
  lookup: SessionLookup,
): Promise<WorkspaceCaller> {
  const live = { ...request, workspaceId: twin.liveWorkspaceId ?? '' };
  const caller =
    live.workspaceId === session.organizationId
      ? await ownCaller(route, live, session, lookup)
      : await otherCaller(route, live, session, lookup);
  const inTwin = { ...caller, workspace: twin };
  request.identified?.(inTwin);
  return inTwin;
}

type SessionLookup = ReturnType<typeof sessionLookup>;

const sessionLookup = (
  { client, agencyId }: CredentialedRequest,
  userId: string,
  { pools, config }: Services,
) => ({
  /** The first session of a user of an organization. @returns false if they may not join, or were removed from the workspace. */
  join: (workspaceId: string, role: string | null): Promise<boolean> =>
    withSystemShare(pools, client(), (db) => joinByProvider(db, workspaceId, userId, role, config.auth)),
  /** The workspace of the organizations that the session names; null if they have none. */
  workspaceOf: (organizations: readonly string[]) =>
    withAuth(pools, client(), `organizations ${JSON.stringify(organizations)} of ${userId}`, (db) =>
      workspaceOfOrganizations(db, organizations, userId),
    ),
  twin: (id: string) => withAuth(pools, client(), `twin ${id}`, (db) => twinById(db, id)),
  workspace: (id: string) =>
    withAuth(pools, client(), `workspace ${id} of ${userId}`, (db) => workspaceOfSession(db, id, userId)),
  agency: () =>
    withAuth(pools, client(), `agency ${agencyId} of ${userId}`, (db) =>
      agencyOfUser(db, userId, agencyId === '' ? null : agencyId),
    ),
});

async function agencyCaller(
  route: Guarded,
  { agencyId, identified }: CredentialedRequest,
  lookup: SessionLookup,
): Promise<AgencyCaller> {
  const caller = await lookup.agency();
  if (!caller && agencyId !== '') throw new ApiError('AGENCY_NOT_FOUND');
  if (!caller?.agency.isActive) throw new ApiError('NOT_AN_AGENCY');
  identified?.(caller);
  if (route.role === 'owner' && caller.role !== 'owner') throw new ApiError('AGENCY_OWNER_REQUIRED');
  return caller;
}

/** A user of an agency, in the workspace of one of its clients. */
async function clientCaller(
  { workspaceId, identified }: CredentialedRequest,
  { userId }: Session,
  lookup: SessionLookup,
): Promise<WorkspaceCaller> {
  const caller = await lookup.agency();
  const found = caller?.agency.isActive ? await lookup.workspace(workspaceId) : null;
  if (!caller || found?.workspace.agencyId !== caller.agency.id) throw new ApiError('WORKSPACE_NOT_FOUND');
  const { workspace } = found;
  const { actor } = caller;
  const client = {
    kind: 'workspace',
    via: 'session',
    actor,
    key: null,
    workspace,
    userId,
    role: 'org:admin',
    isOfAgency: true,
  } as const;
  identified?.(client);
  return client;
}

/** A member of the workspace that the session names, or a user of its agency. */
async function ownCaller(
  route: Guarded,
  { identified }: CredentialedRequest,
  { organizationId, role: tokenRole, userId, ofAnyWorkspace = false }: Session,
  lookup: SessionLookup,
): Promise<WorkspaceCaller> {
  const found = organizationId === null ? null : await lookup.workspace(organizationId);
  // The token is valid, so this does not count as a failed attempt.
  if (!found) throw new ApiError('UNAUTHORIZED');
  const { workspace, userName, memberRole, isOfAgency } = found;
  const actor = { type: 'user', id: userId, name: userName } as const;
  const callerWith = (role: string | null): WorkspaceCaller => ({
    kind: 'workspace',
    via: 'session',
    actor,
    key: null,
    workspace,
    userId,
    role,
    ...(memberRole === null && isOfAgency && { isOfAgency }),
  });
  // A caller who is neither a member nor of the agency leaves no entry in the workspace's log.
  if (memberRole !== null || isOfAgency) identified?.(callerWith(tokenRole));
  if (route.role === 'admin' && tokenRole !== 'org:admin') throw new ApiError('ADMIN_REQUIRED');
  const role = await roleIn(found, tokenRole, lookup, { mayJoin: !ofAnyWorkspace });
  if (route.role === 'admin' && role !== 'org:admin') throw new ApiError('ADMIN_REQUIRED');
  const caller = callerWith(role);
  identified?.(caller);
  return caller;
}

/**
 * @param options.mayJoin the identity provider names the organization, so its users may become members.
 * @throws UNAUTHORIZED if the user is not a member.
 */
async function roleIn(
  { workspace, memberRole, isOfAgency }: Membership,
  tokenRole: string | null,
  lookup: SessionLookup,
  { mayJoin }: { mayJoin: boolean },
): Promise<string | null> {
  if (memberRole !== null) return lowerRole(tokenRole, memberRole);
  if (isOfAgency) return tokenRole;
  if (mayJoin && (await lookup.join(workspace.id, tokenRole))) return tokenRole;
  throw new ApiError('UNAUTHORIZED');
}

/**
 * Verifies a session token: of the identity provider, or of a session that the product started.
 * @param client the client's address, for counting failed attempts.
 * @throws UNAUTHORIZED, RATE_LIMITED, UNAVAILABLE
 */
export async function verifySession(
  token: string,
  client: string,
  services: Services,
  { inBackground }: { inBackground: boolean } = { inBackground: false },
): Promise<Session> {
  if (isSecretToken(token)) {
    const session = await sessionOfToken(token, { inBackground, client: () => client }, services);
    return session ?? unauthorized(client, services);
  }
  return services.sessions.verify(token).catch((error: unknown) => {
    if (error instanceof SessionKeysUnavailable) throw new ApiError('UNAVAILABLE');
    return unauthorized(client, services);
  });
}
