import type { Context } from 'koa';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { insertUserSession } from '#db/queries/accounts/user-sessions.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import {
  hashSessionToken,
  lifetimeOf,
  newSessionToken,
  type SignInMethod,
} from '#domain/accounts/user-session.ts';
import type { Services } from '../services.ts';
import { addCookie, cookieHeader } from './cookies.ts';
import { NO_TOKENS, sealTokens } from './user-sessions.ts';

const MAX_USER_AGENT = 300;

/** A session that the product started by itself, without an identity provider. */
export interface OwnSession {
  id: string;
  /** For the cookie, or as `Authorization: Bearer`. Only its hash is stored. */
  token: string;
  expiresAt: Date;
}

export interface NewOwnSession {
  userId: string;
  /** As the audit log names them. */
  userName: string;
  /** The workspace in which the user starts. The session opens each workspace of the user. */
  workspaceId: string;
  userAgent: string;
  method: SignInMethod;
}

/** Starts a session of a user whom the product has signed in by itself. */
export async function insertOwnSession(
  db: SystemDb,
  { userId, userName, workspaceId, userAgent, method }: NewOwnSession,
  { config, secrets }: Pick<Services, 'config' | 'secrets'>,
): Promise<OwnSession> {
  const token = newSessionToken();
  const minutes = minutesOf(config);
  const id = await insertUserSession(
    db,
    {
      hash: hashSessionToken(token),
      workspaceId,
      userId,
      role: null,
      userAgent: userAgent.slice(0, MAX_USER_AGENT),
      minutes,
      canBeRenewed: false,
    },
    (sessionId) => sealTokens(secrets, { place: workspaceId, id: sessionId }, NO_TOKENS),
  );
  await insertAuditEntry(
    { db, workspaceId },
    {
      actor: { type: 'user', id: userId, name: userName },
      channel: 'session',
      action: 'session.started',
      target: { type: 'session', id },
      changes: { method },
    },
  );
  return { id, token, expiresAt: new Date(Date.now() + minutes * 60_000) };
}

const minutesOf = ({ auth }: Services['config']): number => lifetimeOf(auth.sessions, true);

/** Gives the browser the session's cookie, after the transaction that started it. */
export function giveCookie(
  context: Context,
  { token }: OwnSession,
  { config }: Pick<Services, 'config'>,
): void {
  const minutes = minutesOf(config);
  addCookie(context, cookieHeader('session', token, config.publicUrl, { minutes, sameSite: 'Strict' }));
}
