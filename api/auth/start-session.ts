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
import { hashSessionToken, lifetimeOf, newSessionToken } from '#domain/user-session.ts';
import type { SignedIn } from '#providers/identity-provider.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Services } from '../services.ts';
import { addCookie, cookieHeader } from './cookies.ts';
import { joinAsAdmin } from './first-session.ts';
import { SessionRefused } from './session-token.ts';
import { placeOf, recordEnd, revokeAtProvider, sealTokens } from './user-sessions.ts';

const MAX_USER_AGENT = 300;

/**
 * Starts a session.
 * @param previous the session that it replaces.
 * @returns false if the user belongs to no workspace, or not to the workspace that the provider names.
 */
export async function startSession(
  context: Context,
  services: Services,
  { claims, tokens }: SignedIn,
  previous: SessionKey | null,
): Promise<boolean> {
  const { config, pools, secrets } = services;
  const client = clientAddress(context);
  const place = readPlace(claims);
  if (!place) return false;
  const userId = String(claims['sub']);
  const token = newSessionToken();
  const canBeRenewed = tokens.refreshToken !== null;
  const session = {
    hash: hashSessionToken(token),
    userId,
    role: place.role,
    userAgent: context.get('user-agent').slice(0, MAX_USER_AGENT),
    minutes: lifetimeOf(config.auth.sessions, canBeRenewed),
    canBeRenewed,
  };
  const started = await withSystemShare(pools, client, async (db) => {
    const found = await enter(db, userId, place);
    if (!found) return null;
    const { workspaceId, userName } = found;
    const id = await insertUserSession(db, { ...session, workspaceId }, (sessionId) =>
      sealTokens(secrets, { workspaceId, id: sessionId }, tokens),
    );
    await insertAuditEntry(
      { db, workspaceId },
      { ...byUser(userId, userName), action: 'session.started', target: { type: 'session', id } },
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
