import { z } from 'zod';
import {
  endOtherSessions,
  endSession,
  type ListedSession,
  listUserSessions,
  type SessionsOf,
} from '#db/queries/accounts/user-sessions.ts';
import { withSystemShare } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { Id, isId } from '#domain/base/ids.ts';
import { UserSession } from '#domain/accounts/user-session.ts';
import { noCookie } from '#api/auth/cookies.ts';
import { recordEnd, revokeAtProvider, SESSION_HEADER, signOutUrlOf } from '#api/auth/user-sessions.ts';
import { authorOf } from '#api/http/audit.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';

const Done = z.object({ success: z.literal(true) });
const notFound = (): ApiError => new ApiError('NOT_FOUND', 'Session not found');

/** Admins can also see and end the sessions of the workspace. */
function whoseOf({ userId, role, workspace }: WorkspaceCaller): SessionsOf {
  if (userId === null) throw new Error('a session without a user');
  return { userId, workspaceId: role === 'org:admin' ? (workspace.liveWorkspaceId ?? workspace.id) : null };
}

/** The session of the request's cookie; null with a session token. */
function currentId(header: (name: string) => string): string | null {
  const id = header(SESSION_HEADER);
  return isId(id) ? id : null;
}

const present = (row: ListedSession, ownId: string | null): UserSession => ({
  _id: row.id,
  userId: row.userId,
  userName: row.userName,
  workspaceId: row.workspaceId,
  userAgent: row.userAgent,
  startedAt: row.startedAt.toISOString(),
  seenAt: row.seenAt.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
  isCurrent: row.id === ownId,
});

/** The sessions of people who signed in at the identity provider. Session tokens of programs simply expire. */
export const sessionRoutes = [
  workspaceRoute({
    id: 'listSessions',
    method: 'GET',
    path: '/api/sessions',
    tag: 'Sessions',
    transaction: false,
    summary: 'List the sessions in which people are signed in to the console, newest first',
    description:
      "The caller's own sessions, in all workspaces. Owners and admins also get those of the members who signed in to the workspace, and the owner of an agency those of its people in its clients' workspaces. At most 200.",
    credential: 'session',
    responses: { 200: z.object({ success: z.literal(true), sessions: z.array(UserSession) }) },
    async handler({ caller, pools, config, header }) {
      const rows = await withSystemShare(pools, caller.workspace.id, (db) =>
        listUserSessions(db, whoseOf(caller), config.auth.sessions),
      );
      const id = currentId(header);
      return { status: 200, body: { success: true, sessions: rows.map((row) => present(row, id)) } };
    },
  }),

  workspaceRoute({
    id: 'signOut',
    method: 'DELETE',
    path: '/api/sessions/current',
    tag: 'Sessions',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Sign out: end the session of this browser',
    credential: 'session',
    audit: { action: 'session.ended', target: 'session', targets: 'handler' },
    responses: {
      200: Done.extend({
        signOutUrl: z.string().nullable().meta({
          description: 'The URL that also signs out at the identity provider. null: it has none.',
        }),
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ caller, header, ...services }) {
      const { pools, config } = services;
      const id = currentId(header);
      if (id === null) throw notFound();
      const { userId } = whoseOf(caller);
      const ended = await withSystemShare(pools, caller.workspace.id, async (db) => {
        const found = await endSession(db, id, { userId, workspaceId: null });
        if (found) await recordEnd(db, found, authorOf(caller), 'signed_out');
        return found;
      });
      if (!ended) throw notFound();
      revokeAtProvider([ended], services);
      return {
        status: 200,
        headers: { 'Set-Cookie': noCookie('session', config.publicUrl) },
        body: { success: true, signOutUrl: await signOutUrlOf(ended, services) },
      };
    },
  }),

  workspaceRoute({
    id: 'endOtherSessions',
    method: 'DELETE',
    path: '/api/sessions',
    tag: 'Sessions',
    transaction: false,
    openWhenReadOnly: true,
    summary: "End all of the caller's sessions except the one of this browser",
    credential: 'session',
    audit: { action: 'session.ended', target: 'session', targets: 'handler' },
    responses: { 200: Done.extend({ ended: z.int() }) },
    async handler({ caller, header, ...services }) {
      const { userId } = whoseOf(caller);
      const ended = await withSystemShare(services.pools, caller.workspace.id, async (db) => {
        const found = await endOtherSessions(db, userId, currentId(header));
        for (const session of found) await recordEnd(db, session, authorOf(caller), 'ended');
        return found;
      });
      revokeAtProvider(ended, services);
      return { status: 200, body: { success: true, ended: ended.length } };
    },
  }),

  workspaceRoute({
    id: 'endSession',
    method: 'DELETE',
    path: '/api/sessions/{id}',
    tag: 'Sessions',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'End a session: it is refused from the next request on',
    description:
      "The caller's own session; for an owner or admin, any session that was signed in to the workspace.",
    credential: 'session',
    params: z.object({ id: Id }),
    audit: { action: 'session.ended', target: 'session', targets: 'handler' },
    responses: { 200: Done },
    errors: ['NOT_FOUND'],
    async handler({ caller, params, ...services }) {
      const ended = await withSystemShare(services.pools, caller.workspace.id, async (db) => {
        const found = await endSession(db, params.id, whoseOf(caller));
        if (found) await recordEnd(db, found, authorOf(caller), 'ended');
        return found;
      });
      if (!ended) throw notFound();
      revokeAtProvider([ended], services);
      return { status: 200, body: { success: true } };
    },
  }),
];
