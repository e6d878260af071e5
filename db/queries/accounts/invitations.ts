import { sql } from 'slonik';
import { z } from 'zod';
import { newId, newUserId } from '#domain/base/ids.ts';
import {
  type AgencyInvitation,
  type Invitation,
  INVITATION_DAYS,
  INVITATION_EMAIL_INTERVAL_MS,
  Role,
} from '#domain/accounts/team.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import { addLookup, lookUp, removeLookup } from './lookups.ts';

/** The invitations of a workspace or of an agency: two tables with the same columns, except for the `role`. */
export type InvitationStore = { db: TenantDb; workspaceId: string } | { db: SystemDb; agencyId: string };

const table = (store: InvitationStore) =>
  'agencyId' in store ? sql.fragment`agency_invitations` : sql.fragment`invitations`;
const owner = (store: InvitationStore) =>
  'agencyId' in store ? sql.fragment`agency_id` : sql.fragment`workspace_id`;
const ownerId = (store: InvitationStore): string =>
  'agencyId' in store ? store.agencyId : store.workspaceId;

const Row = z.object({ id: z.string(), email: z.string(), expiresAt: z.date(), createdAt: z.date() });
const WorkspaceRow = Row.extend({ role: Role, acceptedAt: z.date().nullable() });

/** The open invitations of a key end with it. */
const KEY_LIVES = sql.fragment`(i.invited_by_key_id is null or exists (
  select from workspace_keys k
  where k.workspace_id = i.workspace_id and k.id = i.invited_by_key_id and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > now())))`;

interface Page {
  limit: number;
  cursor?: string | undefined;
}

const after = ({ cursor }: Page) => (cursor === undefined ? NOTHING : sql.fragment`and id < ${cursor}`);

/** Invitations to a workspace, newest first: one more than the page has, if there is one. */
export async function pageOfInvitations(db: TenantDb, page: Page): Promise<Invitation[]> {
  const rows = await db.any(sql.type(WorkspaceRow)`
    select * from invitations i
    where workspace_id = ${db.workspaceId} and (accepted_at is not null or ${KEY_LIVES}) ${after(page)}
    order by id desc limit ${page.limit + 1}`);
  return rows.map(({ role, acceptedAt, ...row }) => ({
    ...present(row),
    role,
    acceptedAt: acceptedAt?.toISOString() ?? null,
  }));
}

/** Pending invitations to an agency, newest first: one more than the page has, if there is one. */
export async function pageOfAgencyInvitations(
  db: SystemDb,
  agencyId: string,
  page: Page,
): Promise<AgencyInvitation[]> {
  const rows = await db.any(sql.type(Row)`
    select id, email, expires_at, created_at from agency_invitations
    where agency_id = ${agencyId} and accepted_at is null ${after(page)}
    order by id desc limit ${page.limit + 1}`);
  return rows.map(present);
}

export interface NewInvitation {
  email: string;
  /** In the workspace; null: the invitation is to co-administer an agency. */
  role: Role | null;
  tokenHash: string;
  /** Who invites, or created the key that does. */
  userId: string | null;
  /** The key that invites; null: a session. */
  keyId: string | null;
  now: Date;
}

const SentRow = Row.extend({ isNewLink: z.boolean() });

/**
 * Invites an address, or renews its pending invitation: with the new role and expiry, and a new link unless the last
 * one was emailed within the hour.
 * @returns whether the link is new and must be emailed.
 */
export async function upsertInvitation(
  store: InvitationStore,
  { email, role, tokenHash, userId, keyId, now }: NewInvitation,
): Promise<{ invitation: AgencyInvitation; isNewLink: boolean }> {
  const expiresAt = new Date(now.getTime() + INVITATION_DAYS * 86_400_000);
  const withRole = role !== null;
  const former = await openToken(store, email);
  const { isNewLink, ...row } = await store.db.one(sql.type(SentRow)`
    insert into ${table(store)} as i
      (${owner(store)}, id, email, token_hash, invited_by_user_id, expires_at, mailed_at${withRole ? sql.fragment`, role, invited_by_key_id` : NOTHING})
    values (${ownerId(store)}, ${newId()}, ${email}, ${tokenHash}, ${userId}, ${sql.timestamp(expiresAt)},
      ${sql.timestamp(now)}${withRole ? sql.fragment`, ${role}, ${keyId}` : NOTHING})
    on conflict (${owner(store)}, email) where accepted_at is null do update set
      ${withRole ? sql.fragment`role = excluded.role, invited_by_key_id = excluded.invited_by_key_id,` : NOTHING}
      invited_by_user_id = excluded.invited_by_user_id,
      expires_at = excluded.expires_at,
      token_hash = case when ${MAILED_LATELY} then i.token_hash else excluded.token_hash end,
      mailed_at = case when ${MAILED_LATELY} then i.mailed_at else excluded.mailed_at end
    returning id, email, expires_at, created_at, token_hash = ${tokenHash} is_new_link`);
  if (isNewLink && 'workspaceId' in store) {
    if (former !== null) await removeLookup(store.db, 'invitation', former);
    await addLookup(store.db, 'invitation', tokenHash);
  }
  return { invitation: present(row), isNewLink };
}

const TokenRow = z.object({ tokenHash: z.string() });

/** The hash of the link of the pending invitation of an address; null if there is none. Locks the invitation. */
const openToken = (store: InvitationStore, email: string): Promise<string | null> =>
  store.db.maybeOneFirst(sql.type(TokenRow)`
    select token_hash from ${table(store)}
    where ${owner(store)} = ${ownerId(store)} and email = ${email} and accepted_at is null for update`);

const NOTHING = sql.fragment``;
const MAILED_LATELY = sql.fragment`excluded.mailed_at - i.mailed_at < ${INVITATION_EMAIL_INTERVAL_MS} * interval '1 millisecond'`;

/** The pending invitation of an address; null if there is none. */
export const openInvitationOf = (store: InvitationStore, email: string): Promise<string | null> =>
  store.db.maybeOneFirst(sql.type(IdRow)`
    select id from ${table(store)}
    where ${owner(store)} = ${ownerId(store)} and email = ${email} and accepted_at is null for update`);

/** Revokes a pending invitation and its link. @returns false if there is none. */
export async function deleteInvitation(store: InvitationStore, id: string): Promise<boolean> {
  const tokenHash = await store.db.maybeOneFirst(sql.type(TokenRow)`
    delete from ${table(store)} where ${owner(store)} = ${ownerId(store)} and id = ${id} and accepted_at is null
    returning token_hash`);
  if (tokenHash !== null && 'workspaceId' in store) await removeLookup(store.db, 'invitation', tokenHash);
  return tokenHash !== null;
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
  const workspaceId = await lookUp(db, 'invitation', tokenHash);
  if (workspaceId === null) return null;
  return db.maybeOne(sql.type(OpenInvitation)`
    select i.workspace_id, i.id, i.email, i.role, i.accepted_at, w.name workspace_name
    from invitations i join workspaces w on w.id = i.workspace_id
    where i.workspace_id = ${workspaceId} and i.token_hash = ${tokenHash}
      and (i.accepted_at is not null or i.expires_at > ${sql.timestamp(now)} and ${KEY_LIVES})
    for update of i`);
}

const NamedRow = z.object({ id: z.string(), name: z.string() });

/**
 * Makes the invited person a member. Accepting twice changes nothing.
 * @param userId who is signed in and has the link; null: the user of the invited address, who is created if there is none.
 * @returns the user who has become a member; null: they were one before.
 */
export async function acceptInvitation(
  db: SystemDb,
  { workspaceId, id, email, role, acceptedAt }: OpenInvitation,
  userId: string | null,
  now: Date,
): Promise<{ id: string; name: string } | null> {
  if (acceptedAt !== null) return null;
  // The link proves access to the mailbox, but another user may have its address already.
  await db.query(sql.type(NoRows)`
    insert into users (id, email) values (${userId ?? newUserId()}, ${email}) on conflict do nothing`);
  if (userId !== null)
    await db.query(sql.type(NoRows)`
      insert into users (id, email) values (${userId}, ${userId}) on conflict do nothing`);
  const user = await db.one(sql.type(NamedRow)`
    select id, coalesce(nullif(name, ''), email) name from users
    where ${userId === null ? sql.fragment`lower(email) = lower(${email})` : sql.fragment`id = ${userId}`}`);
  // An admin owns a workspace that an operator has made for them.
  await db.query(sql.type(NoRows)`select from workspaces where id = ${workspaceId} for no key update`);
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into workspace_members (workspace_id, user_id, role, is_owner)
    select ${workspaceId}, ${user.id}, ${role}, ${role} = 'org:admin'
      and not exists (select from workspace_members where workspace_id = ${workspaceId} and is_owner)
    on conflict (workspace_id, user_id) do nothing`);
  await db.query(sql.type(NoRows)`
    delete from former_members where workspace_id = ${workspaceId} and user_id = ${user.id}`);
  await db.query(sql.type(NoRows)`
    update invitations set accepted_at = ${sql.timestamp(now)} where workspace_id = ${workspaceId} and id = ${id}`);
  return rowCount > 0 ? user : null;
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
 * Makes a person a co-admin if the invitation is for their address. A user without an account gets the
 * invited address, because having the link proves access to its mailbox. Idempotent.
 * @param userId who is signed in; null: the user of the invited address, who is created if there is none.
 * @returns the id of the co-admin; null if the invitation is for another address.
 */
export async function acceptAgencyInvitation(
  db: SystemDb,
  { agencyId, id, email, acceptedAt }: OpenAgencyInvitation,
  userId: string | null,
  now: Date,
): Promise<string | null> {
  await db.query(sql.type(NoRows)`
    insert into users (id, email) values (${userId ?? newUserId()}, ${email}) on conflict do nothing`);
  const invitedId = await db.maybeOneFirst(sql.type(IdRow)`
    select id from users where lower(email) = lower(${email})`);
  if (invitedId === null || (userId !== null && invitedId !== userId)) return null;
  if (acceptedAt !== null) return invitedId;
  // Who is invited first owns an agency that an operator has made for them.
  await db.query(sql.type(NoRows)`select from agencies where id = ${agencyId} for no key update`);
  await db.query(sql.type(NoRows)`
    insert into agency_members (agency_id, user_id, role)
    select ${agencyId}, ${invitedId}, case when exists (
      select from agency_members where agency_id = ${agencyId} and role = 'owner') then 'co_admin' else 'owner' end
    on conflict (agency_id, user_id) do nothing`);
  await db.query(sql.type(NoRows)`
    update agency_invitations set accepted_at = ${sql.timestamp(now)} where agency_id = ${agencyId} and id = ${id}`);
  return invitedId;
}

const present = ({ id, email, expiresAt, createdAt }: z.infer<typeof Row>): AgencyInvitation => ({
  _id: id,
  email,
  expiresAt: expiresAt.toISOString(),
  createdAt: createdAt.toISOString(),
});
