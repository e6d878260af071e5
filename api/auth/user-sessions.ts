import { type AuditLog, insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import {
  agencyOfSession,
  claimRenewal,
  endSession,
  type EndedSession,
  type FoundSession,
  landingWorkspace,
  renewSession,
  sessionByHash,
  type SessionKey,
  touchSession,
} from '#db/queries/accounts/user-sessions.ts';
import { updateProfile } from '#db/queries/accounts/identities.ts';
import { areOfWorkspace } from '#db/queries/accounts/provider-organizations.ts';
import { systemDb, type SystemDb, withAuth, withSystemShare } from '#db/connection/transactions.ts';
import type { NewAuditEntry } from '#domain/accounts/audit.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { NoRoleNamed, placeNamedBy, profileOf } from '#domain/accounts/identity-claims.ts';
import { hashSessionToken } from '#domain/accounts/user-session.ts';
import {
  IdentityProviderUnavailable,
  type ProviderTokens,
  SignInRefused,
} from '#providers/identity-provider.ts';
import { secretContext, type SecretBox, SecretBoxError } from '#providers/secret-box.ts';
import { ApiError } from '../http/errors.ts';
import type { Services } from '../services.ts';
import { cookieOf } from './cookies.ts';
import { createRecentlyUsed } from './recently-used.ts';
import type { Session } from './session-token.ts';

/**
 * The header with the id of the session that the console assumes. The cookie counts only together with it: no form, link
 * or script of another site can send it, and a tab that was left open does not continue as another user.
 */
export const SESSION_HEADER = 'x-console-session';
/** Sent with requests that the page makes by itself, to refresh its data. */
export const BACKGROUND_HEADER = 'x-console-background';

/** The parts of a request that identify a console session. */
export interface CookieRequest {
  cookies: string;
  /** `SESSION_HEADER`; '' if not sent. */
  sessionId: string;
  inBackground: boolean;
  client: () => string;
}

/**
 * The session of a request's cookie. Every request looks it up, so that every process refuses an ended session
 * immediately.
 * @throws UNAUTHORIZED, RATE_LIMITED
 */
export async function sessionOfCookie(request: CookieRequest, services: Services): Promise<Session> {
  const found = await findSession(request, services);
  if (!found?.isUsable || found.id !== request.sessionId) throw new ApiError('UNAUTHORIZED');
  return useSession(found, request, services);
}

/**
 * The session of a token that the product has issued, sent as a bearer token.
 * @returns null if the token never had a session.
 * @throws UNAUTHORIZED
 */
export async function sessionOfToken(
  token: string,
  request: Pick<CookieRequest, 'inBackground' | 'client'>,
  services: Services,
): Promise<Session | null> {
  const found = await sessionByToken(token, request.client, services);
  if (!found) return null;
  if (!found.isUsable) throw new ApiError('UNAUTHORIZED');
  return useSession(found, request, services);
}

async function useSession(
  found: FoundSession,
  request: Pick<CookieRequest, 'inBackground' | 'client'>,
  services: Services,
): Promise<Session> {
  if (found.isToBeRenewed) await renew(found, services);
  if (!request.inBackground) touch(found, request.client, services);
  const { userId, role } = found;
  const workspaceId =
    found.workspaceId ??
    (await withAuth(services.pools, request.client(), `first client of ${userId}`, (db) =>
      landingWorkspace(db, userId),
    ));
  // The provider names no organization, so the membership alone decides, in each workspace of the user.
  if (role === null) return { userId, organizationId: workspaceId, role: 'org:admin', ofAnyWorkspace: true };
  return { userId, organizationId: workspaceId, role };
}

/** @returns null without a cookie, or if the cookie never had a session. */
export async function findSession(
  { cookies, client }: Pick<CookieRequest, 'cookies' | 'client'>,
  services: Services,
): Promise<FoundSession | null> {
  const token = cookieOf(cookies, 'session', services.config.publicUrl);
  if (token === '') return null;
  const found = await sessionByToken(token, client, services);
  if (!found) await services.rateLimits.countFailure(client());
  return found;
}

function sessionByToken(
  token: string,
  client: () => string,
  { config, pools }: Services,
): Promise<FoundSession | null> {
  const hash = hashSessionToken(token);
  return withAuth(pools, client(), `session ${hash}`, (db) => sessionByHash(db, hash, config.auth.sessions));
}

const recentlyUsed = createRecentlyUsed();

function touch(session: SessionKey, client: () => string, { pools }: Services): void {
  if (!recentlyUsed.isDue(session.id, Date.now())) return;
  void withAuth(pools, client(), `use of ${session.id}`, (db) => touchSession(db, session)).catch(() => {});
}

/** Asks the provider whether it still knows the user. One request does this; others do not wait for it. */
async function renew(session: FoundSession, services: Services): Promise<void> {
  const { identityProvider, pools, secrets, logger } = services;
  if (!identityProvider) return;
  const sealed = await claimRenewal(systemDb(pools), session);
  if (sealed === null) return;
  try {
    const renewed = await identityProvider.renew(openTokens(secrets, session, sealed));
    if (renewed?.claims) await keepProfile(session, renewed.claims, services);
    if (renewed) await renewSession(systemDb(pools), session, sealTokens(secrets, session, renewed.tokens));
  } catch (error) {
    if (error instanceof IdentityProviderUnavailable) {
      logger.warn({ sessionId: session.id, error }, 'a session was not renewed');
      return;
    }
    if (!ENDS.some((kind) => error instanceof kind)) throw error;
    await withSystemShare(pools, session.place, async (db) => {
      const ended = await endSession(db, session.id, null);
      if (ended) await recordEnd(db, ended, { actor: BY_PROVIDER, channel: 'system' }, 'identity_provider');
    });
    throw new ApiError('UNAUTHORIZED');
  }
}

/** The provider refuses, its claims are not valid, or no key decrypts its tokens. */
const ENDS = [SignInRefused, NoRoleNamed, SecretBoxError];

const BY_PROVIDER = { type: 'system', id: null, name: 'Identity provider' } as const;

/** Keeps the name and the address that the provider gives. @throws SignInRefused, NoRoleNamed if it no longer names the place of the session. */
async function keepProfile(
  { userId, workspaceId, role }: FoundSession,
  claims: Record<string, unknown>,
  { config, pools }: Services,
): Promise<void> {
  const db = systemDb(pools);
  const named = placeNamedBy(claims, config.auth.claimRules);
  const isNamed = named.organizations.length > 0;
  const isSame =
    (isNamed ? (named.role ?? 'org:member') : null) === role &&
    (!isNamed || (workspaceId !== null && (await areOfWorkspace(db, named.organizations, workspaceId))));
  if (!isSame) throw new SignInRefused('the provider names another organization or role');
  await updateProfile(db, userId, profileOf(claims));
}

/** What the tokens of a session are sealed for. */
type Place = Pick<FoundSession, 'place' | 'id'>;

const contextOf = ({ place, id }: Place): string => secretContext('session', place, id);

export const sealTokens = (
  secrets: Pick<SecretBox, 'seal'>,
  session: Place,
  tokens: ProviderTokens,
): string => secrets.seal(JSON.stringify(tokens), contextOf(session));

/** The tokens of a session that no identity provider has started. */
export const NO_TOKENS: ProviderTokens = { idToken: '', refreshToken: null };

const openTokens = (secrets: Pick<SecretBox, 'open'>, session: Place, sealed: string): ProviderTokens =>
  parseOwnJson(secrets.open(sealed, contextOf(session))) as ProviderTokens;

/** Why a session ended early. */
export type SessionEnd = 'signed_out' | 'ended' | 'replaced' | 'identity_provider';

/** Records the end of a session. */
export const recordEnd = async (
  db: SystemDb,
  session: EndedSession,
  author: Pick<NewAuditEntry, 'actor' | 'channel'>,
  reason: SessionEnd,
): Promise<void> => {
  const { id, userId } = session;
  await insertAuditEntry(await logOf(db, session), {
    ...author,
    action: 'session.ended',
    target: { type: 'session', id },
    changes: { userId, reason },
  });
};

/** The audit log of the workspace to which a member was signed in, or of the agency whose people work for its client. */
export async function logOf(
  db: SystemDb,
  { workspaceId, userId }: Pick<EndedSession, 'workspaceId' | 'userId'>,
): Promise<AuditLog> {
  const agencyId = await agencyOfSession(db, { workspaceId, userId });
  if (agencyId !== null) return { db, agencyId };
  // A session without a workspace has an agency as long as its user does.
  if (workspaceId === null) throw new ApiError('UNAUTHORIZED');
  return { db, workspaceId };
}

/** Revokes the tokens of ended sessions at the provider, after the response: the sessions have ended whatever it answers. */
export function revokeAtProvider(ended: readonly EndedSession[], services: Services): void {
  const { identityProvider, secrets, logger } = services;
  if (!identityProvider) return;
  const revoke = async (session: EndedSession): Promise<void> => {
    try {
      await identityProvider.revoke(openTokens(secrets, session, session.tokensSealed));
    } catch (error) {
      logger.warn({ sessionId: session.id, error }, 'a refresh token was not revoked');
    }
  };
  for (const session of ended) void revoke(session);
}

/** Where the browser signs out at the provider; null: nowhere, or the provider does not answer. */
export async function signOutUrlOf(session: EndedSession, services: Services): Promise<string | null> {
  const { identityProvider, secrets, logger } = services;
  if (!identityProvider) return null;
  try {
    const tokens = openTokens(secrets, session, session.tokensSealed);
    return tokens.idToken === '' ? null : await identityProvider.signOutUrl(tokens);
  } catch (error) {
    logger.warn({ sessionId: session.id, error }, 'nobody was signed out at the identity provider');
    return null;
  }
}
