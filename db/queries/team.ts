import { sql } from 'slonik';
import { z } from 'zod';
import { newId, newUserId } from '#domain/ids.ts';
import {
  type Invitation,
  INVITATION_DAYS,
  INVITATION_EMAIL_INTERVAL_MS,
  Role,
  type TeamMember,
} from '#domain/team.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb, TenantDb } from '#db/transactions.ts';

const MemberRow = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  role: Role,
  isOwner: z.boolean(),
  joinedAt: z.date(),
});

const InvitationRow = z.object({
  id: z.string(),
  email: z.string(),
  role: Role,
  expiresAt: z.date(),
  acceptedAt: z.date().nullable(),
  createdAt: z.date(),
});

/** The users of the workspace, the owner first. */
export async function listTeam(db: TenantDb): Promise<TeamMember[]> {
  const rows = await db.any(sql.type(MemberRow)`
    select * from current_team() order by is_owner desc, joined_at, user_id`);
  return rows.map((row) => ({ ...row, joinedAt: row.joinedAt.toISOString() }));
}

export async function listInvitations(db: TenantDb): Promise<Invitation[]> {
  const rows = await db.any(sql.type(InvitationRow)`
    select * from invitations where workspace_id = ${db.workspaceId} order by id desc`);
  return rows.map(present);
}

/** An invitation to a workspace or an agency. */
export interface NewInvitation {
  email: string;
  tokenHash: string;
  userId: string | null;
  now: Date;
}

const SentInvitationRow = InvitationRow.extend({ isNewLink: z.boolean() });

/**
 * Invites an address, or renews its pending invitation: with the new role and expiry, and a new link unless the last
 * one was emailed within the hour.
 * @returns whether the link is new and must be emailed.
 */
export async function upsertInvitation(
  db: TenantDb,
  { email, role, tokenHash, userId, now }: NewInvitation & { role: Role },
): Promise<{ invitation: Invitation; isNewLink: boolean }> {
  const { isNewLink, ...row } = await db.one(sql.type(SentInvitationRow)`
    insert into invitations as i (workspace_id, id, email, role, token_hash, invited_by_user_id, expires_at, mailed_at)
    values (${db.workspaceId}, ${newId()}, ${email}, ${role}, ${tokenHash}, ${userId}, ${expiry(now)}, ${sql.timestamp(now)})
    on conflict (workspace_id, email) where accepted_at is null do update
      set role = excluded.role, ${RENEW_INVITATION}
    returning *, token_hash = ${tokenHash} is_new_link`);
  return { invitation: present(row), isNewLink };
}

export const expiry = (now: Date) => sql.timestamp(new Date(now.getTime() + INVITATION_DAYS * 86_400_000));

const sentLately = sql.fragment`i.mailed_at > excluded.mailed_at - ${INVITATION_EMAIL_INTERVAL_MS} * interval '1 millisecond'`;

/** The `on conflict` assignments that renew the pending invitation `i`. */
export const RENEW_INVITATION = sql.fragment`
  invited_by_user_id = excluded.invited_by_user_id,
  expires_at = excluded.expires_at,
  token_hash = case when ${sentLately} then i.token_hash else excluded.token_hash end,
  mailed_at = case when ${sentLately} then i.mailed_at else excluded.mailed_at end`;

/** Revokes a pending invitation and its link. @returns false if there is none. */
export async function deleteInvitation(db: TenantDb, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from invitations where workspace_id = ${db.workspaceId} and id = ${id} and accepted_at is null`);
  return rowCount > 0;
}

const OpenInvitation = z.object({
  workspaceId: z.string(),
  id: z.string(),
  email: z.string(),
  role: Role,
  workspaceName: z.string(),
  acceptedAt: z.date().nullable(),
});
export type OpenInvitation = z.infer<typeof OpenInvitation>;

/** The invitation of a link; null if it is unknown, revoked or expired. */
export async function findInvitationByToken(
  db: SystemDb,
  tokenHash: string,
  now: Date,
): Promise<OpenInvitation | null> {
  return db.maybeOne(sql.type(OpenInvitation)`
    select i.workspace_id, i.id, i.email, i.role, i.accepted_at, w.name workspace_name
    from invitations i join workspaces w on w.id = i.workspace_id
    where i.token_hash = ${tokenHash} and (i.accepted_at is not null or i.expires_at > ${sql.timestamp(now)})
    for update of i`);
}

const NamedRow = z.object({ id: z.string(), name: z.string() });

/**
 * Makes the invited person a member; a user of that address is that person. Accepting twice changes nothing.
 * @returns the user who has become a member, or null.
 */
export async function acceptInvitation(
  db: SystemDb,
  { workspaceId, id, email, role, acceptedAt }: OpenInvitation,
  now: Date,
): Promise<{ id: string; name: string } | null> {
  if (acceptedAt !== null) return null;
  await db.query(sql.type(NoRows)`
    insert into users (id, email) values (${newUserId()}, ${email}) on conflict (lower(email)) do nothing`);
  const user = await db.one(sql.type(NamedRow)`
    select id, coalesce(nullif(name, ''), email) name from users where lower(email) = lower(${email})`);
  await db.query(sql.type(NoRows)`
    insert into workspace_members (workspace_id, user_id, role) values (${workspaceId}, ${user.id}, ${role})
    on conflict (workspace_id, user_id) do nothing`);
  await db.query(sql.type(NoRows)`
    update invitations set accepted_at = ${sql.timestamp(now)} where workspace_id = ${workspaceId} and id = ${id}`);
  return user;
}

const NameRow = z.object({ name: z.string() });

export async function workspaceName(db: TenantDb): Promise<string> {
  return db.oneFirst(sql.type(NameRow)`select name from workspaces where id = ${db.workspaceId}`);
}

const present = ({
  id,
  expiresAt,
  acceptedAt,
  createdAt,
  ...row
}: z.infer<typeof InvitationRow>): Invitation => ({
  _id: id,
  ...row,
  expiresAt: expiresAt.toISOString(),
  acceptedAt: acceptedAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});
