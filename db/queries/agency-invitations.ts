import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/ids.ts';
import type { AgencyInvitation } from '#domain/team.ts';
import { NoRows, type SystemDb } from '#db/pool.ts';
import { expiry, type NewInvitation, RENEWED } from './team.ts';

const Row = z.object({ id: z.string(), email: z.string(), expiresAt: z.date(), createdAt: z.date() });

/** Who was invited and has not accepted, newest first. */
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

/**
 * Invites an address to co-administer, as `putInvitation` does to a workspace.
 * @returns until when the link is valid, and whether it is new and has to be sent.
 */
export async function putAgencyInvitation(
  db: SystemDb,
  agencyId: string,
  { email, tokenHash, userId, now }: NewInvitation,
): Promise<{ expiresAt: Date; isNewLink: boolean }> {
  return db.one(sql.type(z.object({ expiresAt: z.date(), isNewLink: z.boolean() }))`
    insert into agency_invitations as i (agency_id, id, email, token_hash, invited_by_user_id, expires_at, mailed_at)
    values (${agencyId}, ${newId()}, ${email}, ${tokenHash}, ${userId}, ${expiry(now)}, ${sql.timestamp(now)})
    on conflict (agency_id, email) where accepted_at is null do update set ${RENEWED}
    returning expires_at, token_hash = ${tokenHash} is_new_link`);
}

/** Withdraws an invitation that was not accepted; its link is void. @returns false when there is none. */
export async function deleteAgencyInvitation(db: SystemDb, agencyId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from agency_invitations where agency_id = ${agencyId} and id = ${id} and accepted_at is null`);
  return rowCount > 0;
}

const AgencyOffer = z.object({
  agencyId: z.string(),
  id: z.string(),
  email: z.string(),
  agencyName: z.string(),
  acceptedAt: z.date().nullable(),
});
export type AgencyOffer = z.infer<typeof AgencyOffer>;

/** The invitation that a link stands for; null when it is unknown, withdrawn or expired. */
export async function findAgencyOffer(
  db: SystemDb,
  tokenHash: string,
  now: Date,
): Promise<AgencyOffer | null> {
  return db.maybeOne(sql.type(AgencyOffer)`
    select i.agency_id, i.id, i.email, i.accepted_at, a.name agency_name
    from agency_invitations i join agencies a on a.id = i.agency_id
    where i.token_hash = ${tokenHash} and (i.accepted_at is not null or i.expires_at > ${sql.timestamp(now)})
    for update of i`);
}

/**
 * Makes the signed-in user a co-admin, when the invitation is for that person. Somebody without an account becomes the
 * user of the invited address: whoever has the link reads its mail. Accepting twice changes nothing.
 * @returns false when it is for somebody else.
 */
export async function acceptAgencyOffer(
  db: SystemDb,
  { agencyId, id, email, acceptedAt }: AgencyOffer,
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

/** Who invites, and to what, as the email says it. */
export async function agencyNames(
  db: SystemDb,
  agencyId: string,
  userId: string | null,
): Promise<{ agencyName: string; invitedBy: string | null }> {
  return db.one(sql.type(z.object({ agencyName: z.string(), invitedBy: z.string().nullable() }))`
    select name agency_name, (select nullif(name, '') from users where id = ${userId}) invited_by
    from agencies where id = ${agencyId}`);
}
