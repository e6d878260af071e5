import type { Context } from 'koa';
import { insertAuditEntry } from '#db/queries/audit-log.ts';
import { workspaceOfSession } from '#db/queries/credentials.ts';
import {
  endSession,
  insertUserSession,
  landingWorkspace,
  type SessionKey,
} from '#db/queries/user-sessions.ts';
import { type SystemDb, withSystemShare } from '#db/transactions.ts';
import { hashSessionToken, lifetimeOf, newSessionToken, type SignInMethod } from '#domain/user-session.ts';
import type { ProviderTokens, SignedIn } from '#providers/identity-provider.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Services } from '../services.ts';
import { addCookie, cookieHeader } from './cookies.ts';
import { joinAsAdmin } from './first-session.ts';
import { SessionRefused } from './session-token.ts';
import { findSession, NO_TOKENS, placeOf, recordEnd, revokeAtProvider, sealTokens } from './user-sessions.ts';

const MAX_USER_AGENT = 300;

/** A person who has proved who they are, and the browser. */
interface Person {
  userId: string;
  place: Place;
  method: SignInMethod;
  tokens: ProviderTokens;
  /** The session that it replaces. */
  previous: SessionKey | null;
}

/**
 * Starts a session of somebody who signed in at the identity provider.
 * @param previous the session that it replaces.
 * @returns false if the user belongs to no workspace, or not to the workspace that the provider names.
 */
export async function startSession(
  context: Context,
  services: Services,
  { claims, tokens }: SignedIn,
  previous: SessionKey | null,
): Promise<boolean> {
  const place = readPlace(claims);
  if (!place) return false;
  const userId = String(claims['sub']);
  return start(context, services, { userId, place, method: 'identity_provider', tokens, previous });
}

/**
 * Starts a session of somebody who signed in here, in place of the session that the browser has.
 * @returns false if the user belongs to no workspace.
 */
export async function startOwnSession(
  context: Context,
  services: Services,
  userId: string,
  method: Exclude<SignInMethod, 'identity_provider'>,
): Promise<boolean> {
  const previous = await findSession(
    { cookies: context.get('cookie'), client: () => clientAddress(context) },
    services,
  );
  return start(context, services, { userId, place: OWN_PLACE, method, tokens: NO_TOKENS, previous });
}

/** The memberships alone count. */
const OWN_PLACE: Place = { organizationId: null, role: null };

async function start(
  context: Context,
  services: Services,
  { userId, place, method, tokens, previous }: Person,
): Promise<boolean> {
  const { config, pools, secrets } = services;
  const token = newSessionToken();
  const canBeRenewed = tokens.refreshToken !== null;
  const session = {
    hash: hashSessionToken(token),
    userId,
    role: place.role,
    userAgent: context.get('user-agent').slice(0, MAX_USER_AGENT),
    minutes: lifetimeOf(config.auth.sessions, canBeRenewed || method !== 'identity_provider'),
    canBeRenewed,
  };
  const started = await withSystemShare(pools, clientAddress(context), async (db) => {
    const found = await enter(db, userId, place);
    if (!found) return null;
    const { workspaceId, userName } = found;
    const id = await insertUserSession(db, { ...session, workspaceId }, (sessionId) =>
      sealTokens(secrets, { workspaceId, id: sessionId }, tokens),
    );
    await insertAuditEntry(
      { db, workspaceId },
      {
        ...byUser(userId, userName),
        action: 'session.started',
        target: { type: 'session', id },
        changes: { method },
      },
    );
    const replaced = previous && (await endSession(db, previous.id, previous));
    if (replaced) await recordEnd(db, replaced, byUser(replaced.userId), 'replaced');
    return { replaced };
  });
  if (!started) return false;
  if (started.replaced) revokeAtProvider([started.replaced], services);
  const { minutes } = session;
  addCookie(context, cookieHeader('session', token, config.publicUrl, { minutes, sameSite: 'Strict' }));
  return true;
}

const byUser = (id: string, name: string | null = null) =>
  ({ actor: { type: 'user', id, name }, channel: 'session' }) as const;

type Place = ReturnType<typeof placeOf>;

/** null: the claims are not valid. */
function readPlace(claims: unknown): Place | null {
  try {
    return placeOf(claims);
  } catch (error) {
    if (error instanceof SessionRefused) return null;
    throw error;
  }
}

/** The workspace that the user signs in to. An admin of the provider's organization becomes its member. */
async function enter(db: SystemDb, userId: string, { organizationId, role }: Place) {
  const workspaceId = organizationId ?? (await landingWorkspace(db, userId));
  const found = workspaceId === null ? null : await workspaceOfSession(db, workspaceId, userId);
  if (workspaceId === null || !found) return null;
  const { memberRole, isOfAgency, userName } = found;
  const isIn =
    memberRole !== null ||
    isOfAgency ||
    (role === 'org:admin' && (await joinAsAdmin(db, workspaceId, userId)));
  return isIn ? { workspaceId, userName } : null;
}
