import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { RENEWAL_MINUTES, type SessionLimits } from '#domain/accounts/user-session.ts';

/** A session that is to be stored. `hash` is of the token in the cookie. */
export interface NewUserSession {
  hash: string;
  /** null: of an agency that has no client yet. */
  workspaceId: string | null;
  userId: string;
  role: string | null;
  userAgent: string;
  minutes: number;
  canBeRenewed: boolean;
}

/** @param seal encrypts the tokens of the provider for the session's id. */
export async function insertUserSession(
  db: SystemDb,
  { hash, workspaceId, userId, role, userAgent, minutes, canBeRenewed }: NewUserSession,
  seal: (id: string) => string,
): Promise<string> {
  const id = newId();
  await db.query(sql.type(NoRows)`
    insert into user_sessions
      (workspace_id, id, hash, user_id, role, user_agent, expires_at, renew_at, tokens_sealed)
    values (${workspaceId}, ${id}, ${hash}, ${userId}, ${role}, ${userAgent},
      now() + make_interval(mins => ${minutes}),
      case when ${canBeRenewed} then now() + make_interval(mins => ${RENEWAL_MINUTES}) end, ${seal(id)})`);
  return id;
}

const usable = ({ idleMinutes }: SessionLimits) => sql.fragment`
  s.ended_at is null and s.expires_at > now() and s.seen_at > now() - make_interval(mins => ${idleMinutes})`;

const FoundRow = z.object({
  id: z.string(),
  place: z.string(),
  workspaceId: z.string().nullable(),
  userId: z.string(),
  role: z.string().nullable(),
  isUsable: z.boolean(),
  isToBeRenewed: z.boolean(),
});
export type FoundSession = z.infer<typeof FoundRow>;

/** The session of a cookie, also for a day after its end. */
export async function sessionByHash(
  db: SystemDb,
  hash: string,
  limits: SessionLimits,
): Promise<FoundSession | null> {
  return db.maybeOne(sql.type(FoundRow)`
    select s.id, s.place, s.workspace_id, s.user_id, s.role, ${usable(limits)} is_usable,
      coalesce(s.renew_at <= now(), false) is_to_be_renewed
    from user_sessions s where s.hash = ${hash}`);
}

/** Records that a person uses the session, at most once a minute. */
export async function touchSession(db: SystemDb, { id }: SessionKey): Promise<void> {
  await db.query(sql.type(NoRows)`
    update user_sessions set seen_at = now()
    where id = ${id} and seen_at < now() - interval '1 minute'`);
}

export interface SessionKey {
  id: string;
}

/** Claims the renewal of a session for the next minute. @returns its tokens; null if another request has claimed it. */
export async function claimRenewal(db: SystemDb, { id }: SessionKey): Promise<string | null> {
  return db.maybeOneFirst(sql.type(z.object({ tokensSealed: z.string() }))`
    update user_sessions set renew_at = now() + interval '1 minute'
    where id = ${id} and renew_at <= now() and ended_at is null
    returning tokens_sealed`);
}

export async function renewSession(db: SystemDb, { id }: SessionKey, tokensSealed: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update user_sessions
    set renew_at = now() + make_interval(mins => ${RENEWAL_MINUTES}), tokens_sealed = ${tokensSealed}
    where id = ${id}`);
}

const ListedRow = z.object({
  id: z.string(),
  userId: z.string(),
  userName: z.string().nullable(),
  workspaceId: z.string().nullable(),
  userAgent: z.string(),
  startedAt: z.date(),
  seenAt: z.date(),
  expiresAt: z.date(),
});
export type ListedSession = z.infer<typeof ListedRow>;

/**
 * Whose sessions: one's own, everywhere, and with `workspaceId` those of members that were signed in to the workspace. People of
 * an agency are not members of its clients: their sessions there belong to the agency, and its owner has them too.
 */
export interface SessionsOf {
  userId: string;
  workspaceId: string | null;
}

const isMember = sql.fragment`exists (
  select from workspace_members m where m.workspace_id = own.workspace_id and m.user_id = own.user_id)`;

const of = ({ userId, workspaceId }: SessionsOf) => sql.fragment`s.id in (
  select id from user_sessions where user_id = ${userId}
  union
  select own.id from user_sessions own where own.workspace_id = ${workspaceId} and ${isMember}
  union
  select own.id
  from agency_members owner
  join agencies a on a.id = owner.agency_id and a.is_active
  join agency_members staff on staff.agency_id = a.id
  join workspaces w on w.agency_id = a.id
  join user_sessions own on own.workspace_id = w.id and own.user_id = staff.user_id
  where owner.user_id = ${userId} and owner.role = 'owner' and not ${isMember})`;

const LogRow = z.object({ agencyId: z.string().nullable() });

/**
 * The agency to which a session belongs: of the workspace, or without one of the user; null: it is a member's, and belongs to the
 * workspace.
 */
export async function agencyOfSession(
  db: SystemDb,
  { workspaceId, userId }: { workspaceId: string | null; userId: string },
): Promise<string | null> {
  if (workspaceId === null) return (await agencyOfPerson(db, userId))?.agencyId ?? null;
  return db.maybeOneFirst(sql.type(LogRow)`
    select a.agency_id from workspaces w join agency_members a on a.agency_id = w.agency_id and a.user_id = ${userId}
    where w.id = ${workspaceId} and not exists (
      select from workspace_members m where m.workspace_id = w.id and m.user_id = ${userId})`);
}

/** The maximum number of sessions in a list. */
const MAX_LISTED = 200;

/** Newest first. */
export async function listUserSessions(
  db: SystemDb,
  whose: SessionsOf,
  limits: SessionLimits,
): Promise<readonly ListedSession[]> {
  return db.any(sql.type(ListedRow)`
    select s.id, s.user_id, coalesce(nullif(u.name, ''), u.email) user_name, s.workspace_id, s.user_agent, s.started_at,
      s.seen_at, s.expires_at
    from user_sessions s join users u on u.id = s.user_id
    where ${of(whose)} and ${usable(limits)}
    order by s.started_at desc, s.id desc limit ${MAX_LISTED}`);
}

const EndedRow = z.object({
  id: z.string(),
  place: z.string(),
  workspaceId: z.string().nullable(),
  userId: z.string(),
  tokensSealed: z.string(),
});
export type EndedSession = z.infer<typeof EndedRow>;

/** Ends a session. @param whose null: whoever's. @returns null if there is none, or it has ended. */
export async function endSession(
  db: SystemDb,
  id: string,
  whose: SessionsOf | null,
): Promise<EndedSession | null> {
  const owned = whose ? of(whose) : sql.fragment`true`;
  return db.maybeOne(sql.type(EndedRow)`
    update user_sessions s set ended_at = now()
    where s.id = ${id} and ${owned} and s.ended_at is null and s.expires_at > now()
    returning s.id, s.place, s.workspace_id, s.user_id, s.tokens_sealed`);
}

/** Ends all sessions of a user, except one if it is given. */
export async function endOtherSessions(
  db: SystemDb,
  userId: string,
  exceptId: string | null,
): Promise<readonly EndedSession[]> {
  return db.any(sql.type(EndedRow)`
    update user_sessions s set ended_at = now()
    where s.user_id = ${userId} and s.id is distinct from ${exceptId} and s.ended_at is null and s.expires_at > now()
    returning s.id, s.place, s.workspace_id, s.user_id, s.tokens_sealed`);
}

/**
 * Where somebody works for whom the provider names no organization: the workspace they own, else the one they joined
 * first, else the first of their agency. null: they belong to none.
 */
export async function landingWorkspace(db: SystemDb, userId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(z.object({ id: z.string() }))`
    select id from (
      select w.id, 0 as rank, m.is_owner, m.joined_at as at from workspace_members m join workspaces w on w.id = m.workspace_id
      where m.user_id = ${userId}
      union all
      select w.id, 1, false, w.created_at from agency_members m join agencies a on a.id = m.agency_id and a.is_active
        join workspaces w on w.agency_id = a.id and w.live_workspace_id is null
      where m.user_id = ${userId}
    ) places order by rank, is_owner desc, at, id limit 1`);
}

const PersonRow = z.object({ agencyId: z.string(), userName: z.string().nullable() });

/** The active agency that somebody works for: the one they own, else the one they joined first. */
export async function agencyOfPerson(
  db: SystemDb,
  userId: string,
): Promise<z.infer<typeof PersonRow> | null> {
  return db.maybeOne(sql.type(PersonRow)`
    select m.agency_id, coalesce(nullif(u.name, ''), u.email) user_name
    from agency_members m join agencies a on a.id = m.agency_id and a.is_active join users u on u.id = m.user_id
    where m.user_id = ${userId} order by m.role = 'owner' desc, m.joined_at, m.agency_id limit 1`);
}

const PlaceRow = z.object({ id: z.string(), name: z.string() });

/** The workspaces that a session opens: all of its user's, if the provider names no organization. At most 100, by name. */
export async function workspacesOfSession(
  db: SystemDb,
  id: string,
  userId: string,
): Promise<z.infer<typeof PlaceRow>[]> {
  const rows = await db.any(sql.type(PlaceRow)`
    select w.id, w.name from user_sessions s
      join workspace_members m on m.user_id = s.user_id join workspaces w on w.id = m.workspace_id
    where s.id = ${id} and s.user_id = ${userId} and s.role is null
    order by w.name, w.id limit 100`);
  return [...rows];
}
