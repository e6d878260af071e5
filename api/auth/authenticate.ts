import {
  agencyByKey,
  agencyOfUser,
  touchKey,
  workspaceById,
  workspaceByKey,
} from '#db/queries/credentials.ts';
import { systemDb } from '#db/pool.ts';
import { apiKeyKind, hashApiKey } from '#domain/api-key.ts';
import type { AgencyCaller, Caller, WorkspaceCaller } from '#domain/caller.ts';
import { ApiError } from '../http/errors.ts';
import type { TenantRoute } from '../http/route.ts';
import type { Services } from '../services.ts';
import { SessionKeysUnavailable } from './session-token.ts';

/** What an agency key works on (specification §4.2), as a refused request lists it. */
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

interface Credential {
  scheme: 'bearer' | 'basic';
  token: string;
}

/**
 * The caller a route lets in (specification §5).
 * @throws UNAUTHORIZED and the refusals of specification §5.4, each by the kind of credential that came.
 */
export async function authenticate(
  route: Pick<TenantRoute, 'access'>,
  request: { authorization: string; path: string },
  services: Services,
): Promise<Caller> {
  const credential = readCredential(request.authorization);
  if (!credential) throw new ApiError('UNAUTHORIZED');
  const keyKind = apiKeyKind(credential.token);
  if (keyKind === 'agency') return withAgencyKey(route, credential, request.path, services);
  if (keyKind === 'workspace') return withWorkspaceKey(route, credential, services);
  return withSession(route, credential, services);
}

function readCredential(authorization: string): Credential | null {
  const [, scheme = '', value = ''] = /^(bearer|basic) +(\S+)$/i.exec(authorization.trim()) ?? [];
  if (value === '') return null;
  if (scheme.toLowerCase() === 'bearer') return { scheme: 'bearer', token: value };
  // The key is the user name; the password is empty (decisions §3).
  const [user = ''] = Buffer.from(value, 'base64').toString('utf8').split(':');
  return user === '' ? null : { scheme: 'basic', token: user };
}

const needsSession = ({ access }: Pick<TenantRoute, 'access'>): boolean => access.endsWith('-session');
const isForAgencies = ({ access }: Pick<TenantRoute, 'access'>): boolean => access.startsWith('agency');

async function withAgencyKey(
  route: Pick<TenantRoute, 'access'>,
  { scheme, token }: Credential,
  requestedPath: string,
  { pools }: Services,
): Promise<AgencyCaller> {
  const hash = hashApiKey(token);
  const caller = scheme === 'bearer' ? await agencyByKey(systemDb(pools), hash) : null;
  if (!caller) throw new ApiError('UNAUTHORIZED');
  const where = { agencyEndpoints: AGENCY_ENDPOINTS, requestedPath };
  if (needsSession(route)) throw new ApiError('SESSION_REQUIRED', undefined, where);
  if (!isForAgencies(route)) throw new ApiError('AGENCY_KEY_WRONG_ENDPOINT', undefined, where);
  if (!caller.agency.isActive) throw new ApiError('NOT_AN_AGENCY');
  noteUse(hash, pools);
  return caller;
}

async function withWorkspaceKey(
  route: Pick<TenantRoute, 'access'>,
  { token }: Credential,
  { pools }: Services,
): Promise<WorkspaceCaller> {
  const hash = hashApiKey(token);
  const caller = await workspaceByKey(systemDb(pools), hash);
  if (!caller) throw new ApiError('UNAUTHORIZED');
  if (needsSession(route)) throw new ApiError('SESSION_REQUIRED');
  if (isForAgencies(route)) throw new ApiError('AGENCY_KEY_REQUIRED');
  noteUse(hash, pools);
  return caller;
}

/** Keys used within the last minute by this process: their `lastUsedAt` needs no writing. */
const recentlyUsed = new Map<string, number>();

function noteUse(hash: string, pools: Services['pools']): void {
  const now = Date.now();
  if (now - (recentlyUsed.get(hash) ?? 0) < 60_000) return;
  if (recentlyUsed.size > 10_000) recentlyUsed.clear();
  recentlyUsed.set(hash, now);
  void touchKey(systemDb(pools), hash).catch(() => {});
}

async function withSession(
  route: Pick<TenantRoute, 'access'>,
  { scheme, token }: Credential,
  { pools, sessions }: Services,
): Promise<Caller> {
  if (scheme !== 'bearer') throw new ApiError('UNAUTHORIZED');
  const session = await sessions.verify(token).catch((error: unknown) => {
    throw new ApiError(error instanceof SessionKeysUnavailable ? 'UNAVAILABLE' : 'UNAUTHORIZED');
  });
  if (isForAgencies(route)) {
    const caller = await agencyOfUser(systemDb(pools), session.userId);
    if (!caller?.agency.isActive) throw new ApiError('NOT_AN_AGENCY');
    if (route.access.endsWith('-owner-session') && caller.role !== 'owner')
      throw new ApiError('AGENCY_OWNER_REQUIRED');
    return caller;
  }
  const { organizationId, role, userId } = session;
  const workspace = organizationId === null ? null : await workspaceById(systemDb(pools), organizationId);
  if (!workspace) throw new ApiError('UNAUTHORIZED');
  if (route.access === 'workspace-admin-session' && role !== 'org:admin')
    throw new ApiError('ADMIN_REQUIRED');
  return { kind: 'workspace', via: 'session', workspace, userId, role };
}
