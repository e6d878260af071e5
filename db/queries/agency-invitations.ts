import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/ids.ts';
import type { AgencyInvitation } from '#domain/team.ts';
import { NoRows } from '#db/rows.ts';
import type { SystemDb } from '#db/transactions.ts';
import { expiry, type NewInvitation, RENEW_INVITATION } from './team.ts';

const Row = z.object({ id: z.string(), email: z.string(), expiresAt: z.date(), createdAt: z.date() });

/** Pending invitations, newest first. */
export async function listAgencyInvitations(db: SystemDb, agencyId: string): Promise<AgencyInvitation[]> {
  const rows = await db.any(sql.type(Row)`
    select id, email, expires_at, created_at from agency_invitations
    where agency_id = ${agencyId} and accepted_at is null order by id desc`);
  return rows.map(({ id, email, expiresAt, createdAt }) => ({
    _id: id,
    email,
    expiresAt: expiresAt.toISOString(),
    createdAt: createdAt.toISOString(),
  }));
}

const InvitationLinkRow = z.object({ expiresAt: z.date(), isNewLink: z.boolean() });

/**
 * Invites an address to co-administer, like `upsertInvitation` for a workspace.
 * @returns when the link expires, and whether it is new and must be emailed.
 */
export async function upsertAgencyInvitation(
  db: SystemDb,
  agencyId: string,
  { email, tokenHash, userId, now }: NewInvitation,
): Promise<{ expiresAt: Date; isNewLink: boolean }> {
  return db.one(sql.type(InvitationLinkRow)`
    insert into agency_invitations as i (agency_id, id, email, token_hash, invited_by_user_id, expires_at, mailed_at)
    values (${agencyId}, ${newId()}, ${email}, ${tokenHash}, ${userId}, ${expiry(now)}, ${sql.timestamp(now)})
    on conflict (agency_id, email) where accepted_at is null do update set ${RENEW_INVITATION}
    returning expires_at, token_hash = ${tokenHash} is_new_link`);
}

/** Revokes a pending invitation and its link. @returns false if there is none. */
export async function deleteAgencyInvitation(db: SystemDb, agencyId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from agency_invitations where agency_id = ${agencyId} and id = ${id} and accepted_at is null`);
  return rowCount > 0;
}

const OpenAgencyInvitation = z.object({
  agencyId: z.string(),
  id: z.string(),
  email: z.string(),
  agencyName: z.string(),
  acceptedAt: z.date().nullable(),
});
export type OpenAgencyInvitation = z.infer<typeof OpenAgencyInvitation>;

/** The invitation of a link; null if it is unknown, revoked or expired. */
export async function findAgencyInvitationByToken(
  db: SystemDb,
  tokenHash: string,
  now: Date,
): Promise<OpenAgencyInvitation | null> {
  return db.maybeOne(sql.type(OpenAgencyInvitation)`
    select i.agency_id, i.id, i.email, i.accepted_at, a.name agency_name
    from agency_invitations i join agencies a on a.id = i.agency_id
    where i.token_hash = ${tokenHash} and (i.accepted_at is not null or i.expires_at > ${sql.timestamp(now)})
    for update of i`);
}

/**
 * Makes the signed-in user a co-admin if the invitation is for their address. A user without an account gets the
 * invited address, because having the link proves access to its mailbox. Idempotent.
 * @returns false if the invitation is for another address.
 */
export async function acceptAgencyInvitation(
  db: SystemDb,
  { agencyId, id, email, acceptedAt }: OpenAgencyInvitation,
  userId: string,
  now: Date,
): Promise<boolean> {
  await db.query(sql.type(NoRows)`
    insert into users (id, email) values (${userId}, ${email}) on conflict do nothing`);
  const isInvited = await db.exists(sql.type(NoRows)`
    select from users where id = ${userId} and lower(email) = lower(${email})`);
  if (!isInvited) return false;
  if (acceptedAt !== null) return true;
  await db.query(sql.type(NoRows)`
    insert into agency_members (agency_id, user_id, role) values (${agencyId}, ${userId}, 'co_admin')
    on conflict (agency_id, user_id) do nothing`);
  await db.query(sql.type(NoRows)`
    update agency_invitations set accepted_at = ${sql.timestamp(now)} where agency_id = ${agencyId} and id = ${id}`);
  return true;
}

const InviterRow = z.object({ agencyName: z.string(), invitedBy: z.string().nullable() });

/** The names in an invitation email. */
export async function agencyNames(
  db: SystemDb,
  agencyId: string,
  userId: string | null,
): Promise<{ agencyName: string; invitedBy: string | null }> {
  return db.one(sql.type(InviterRow)`
    select name agency_name, (select nullif(name, '') from users where id = ${userId}) invited_by
    from agencies where id = ${agencyId}`);
}
