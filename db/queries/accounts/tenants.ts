import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import type { SubAccountInput } from '#domain/accounts/agency.ts';
import { BillingMode, Plan, SubscriptionStatus } from '#domain/billing/entitlement.ts';
import { newAgencyId, newUserId, newWorkspaceId } from '#domain/base/ids.ts';
import type { Role } from '#domain/accounts/team.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

export interface Person {
  email: string;
  /** '': none. */
  name: string;
}

const UserRow = z.object({ id: z.string(), name: z.string() });

/** The user with an email address, who is created if there is none. @returns also their name, or their address without one. */
export async function ensureUser(db: SystemDb, { email, name }: Person): Promise<z.infer<typeof UserRow>> {
  await db.query(sql.type(NoRows)`
    insert into users (id, email, name) values (${newUserId()}, ${email}, ${name}) on conflict do nothing`);
  return db.one(sql.type(UserRow)`
    select id, coalesce(nullif(name, ''), email) name from users where lower(email) = lower(${email})`);
}

/** @returns the id of the new agency. */
export async function insertAgency(
  db: SystemDb,
  { name, billingMode, ownerId }: { name: string; billingMode: BillingMode; ownerId: string | null },
): Promise<string> {
  const id = newAgencyId();
  await db.query(sql.type(NoRows)`
    insert into agencies (id, name, billing_mode) values (${id}, ${name}, ${billingMode})`);
  if (ownerId !== null)
    await db.query(sql.type(NoRows)`
      insert into agency_members (agency_id, user_id, role) values (${id}, ${ownerId}, 'owner')`);
  return id;
}

export interface NewWorkspace extends SubAccountInput {
  /** null: it has none, and its own billing mode counts. */
  agencyId: string | null;
  billingMode: Exclude<BillingMode, 'invoice'>;
  /** null: the first admin who signs in owns it. */
  ownerId: string | null;
}

/** @returns the id of the new workspace. */
export async function insertWorkspace(
  db: SystemDb,
  { name, legalName = name, timezone, country, agencyId, billingMode, ownerId }: NewWorkspace,
): Promise<string> {
  const id = newWorkspaceId();
  await db.query(sql.type(NoRows)`
    insert into workspaces (id, agency_id, name, legal_name, timezone, country, billing_mode, created_by_user_id)
    values (${id}, ${agencyId}, ${name}, ${legalName}, ${timezone}, ${country}, ${billingMode}, ${ownerId})`);
  if (ownerId !== null)
    await db.query(sql.type(NoRows)`
      insert into workspace_members (workspace_id, user_id, role, is_owner) values (${id}, ${ownerId}, 'org:admin', true)`);
  return id;
}

/** Who owns a workspace or an agency, or was invited to. */
const ownedBy = (email: string, members: FragmentSqlToken, invitations: FragmentSqlToken) => sql.fragment`(
  exists (select from ${members} and u.id = m.user_id and lower(u.email) = lower(${email}))
  or exists (select from ${invitations} and lower(i.email) = lower(${email})))`;

/** The oldest agency with this name and owner; null if there is none. */
export async function findAgencyByName(db: SystemDb, name: string, email: string): Promise<string | null> {
  const members = sql.fragment`agency_members m, users u where m.agency_id = a.id and m.role = 'owner'`;
  const invitations = sql.fragment`agency_invitations i where i.agency_id = a.id`;
  return db.maybeOneFirst(sql.type(IdRow)`
    select a.id from agencies a where a.name = ${name} and ${ownedBy(email, members, invitations)}
    order by a.created_at, a.id limit 1`);
}

/** The oldest workspace with this name, agency and owner; null if there is none. */
export async function findWorkspaceByName(
  db: SystemDb,
  { name, agencyId, email }: { name: string; agencyId: string | null; email: string },
): Promise<string | null> {
  const members = sql.fragment`workspace_members m, users u where m.workspace_id = w.id and m.is_owner`;
  const invitations = sql.fragment`invitations i where i.workspace_id = w.id`;
  return db.maybeOneFirst(sql.type(IdRow)`
    select w.id from workspaces w
    where w.name = ${name} and w.agency_id is not distinct from ${agencyId} and w.live_workspace_id is null
      and ${ownedBy(email, members, invitations)}
    order by w.created_at, w.id limit 1`);
}

const OwnerRow = z.object({ email: z.string() });

/** The address of the owner of an agency; null if there is no agency with that id, or it has no owner yet. */
export async function agencyOwner(db: SystemDb, agencyId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(OwnerRow)`
    select u.email from agency_members m join users u on u.id = m.user_id
    where m.agency_id = ${agencyId} and m.role = 'owner'`);
}

export async function hasAgency(db: SystemDb, agencyId: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`select from agencies where id = ${agencyId}`);
}

export async function hasWorkspace(db: SystemDb, workspaceId: string): Promise<boolean> {
  return db.exists(sql.type(NoRows)`select from workspaces where id = ${workspaceId}`);
}

/** Makes a user a co-admin. @returns false if they are of the agency already. */
export async function addCoAdmin(
  db: SystemDb,
  { agencyId, userId }: { agencyId: string; userId: string },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into agency_members (agency_id, user_id, role) values (${agencyId}, ${userId}, 'co_admin')
    on conflict (agency_id, user_id) do nothing`);
  return rowCount > 0;
}

/** Makes a user a member. @returns false if they are one already. */
export async function addMember(
  db: SystemDb,
  { workspaceId, userId, role }: { workspaceId: string; userId: string; role: Role },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into workspace_members (workspace_id, user_id, role) values (${workspaceId}, ${userId}, ${role})
    on conflict (workspace_id, user_id) do nothing`);
  await db.query(sql.type(NoRows)`
    delete from former_members where workspace_id = ${workspaceId} and user_id = ${userId}`);
  return rowCount > 0;
}

const AgencyIdRow = z.object({ agencyId: z.string().nullable() });

/** A live workspace and its agency; null if there is none with that id. Locks it until the transaction ends. */
export async function lockWorkspace(
  db: SystemDb,
  workspaceId: string,
): Promise<z.infer<typeof AgencyIdRow> | null> {
  return db.maybeOne(sql.type(AgencyIdRow)`
    select agency_id from workspaces where id = ${workspaceId} and live_workspace_id is null for no key update`);
}

/** Suspends a workspace with its twin, or resumes it. @returns the ids of those that were in the other state. */
export async function setSuspended(
  db: SystemDb,
  workspaceId: string,
  isSuspended: boolean,
): Promise<readonly string[]> {
  return db.anyFirst(sql.type(IdRow)`
    update workspaces set suspended_at = case when ${isSuspended} then now() end, updated_at = now()
    where (id = ${workspaceId} or live_workspace_id = ${workspaceId}) and (suspended_at is null) = ${isSuspended}
    returning id`);
}

const ModeRow = z.object({ before: BillingMode });

/** Sets who pays in an agency. @returns the mode before; null if there is no agency with that id. */
export async function setAgencyBilling(
  db: SystemDb,
  agencyId: string,
  mode: BillingMode,
): Promise<BillingMode | null> {
  return db.maybeOneFirst(sql.type(ModeRow)`
    update agencies a set billing_mode = ${mode} from (
      select id, billing_mode from agencies where id = ${agencyId} for update
    ) old where a.id = old.id returning old.billing_mode before`);
}

/** Makes the plans of an agency's clients active for which a card was to pay: its events no longer concern them, not even its payment. */
export async function activatePastDue(db: SystemDb, agencyId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspaces set subscription_status = 'active', updated_at = now()
    where agency_id = ${agencyId} and subscription_status = 'past_due'`);
}

/** Sets who pays for a workspace without an agency. @returns the mode before; null if there is no such workspace. */
export async function setWorkspaceBilling(
  db: SystemDb,
  workspaceId: string,
  mode: Exclude<BillingMode, 'invoice'>,
): Promise<BillingMode | null> {
  return db.maybeOneFirst(sql.type(ModeRow)`
    update workspaces w set billing_mode = ${mode} from (
      select id, billing_mode from workspaces
      where id = ${workspaceId} and agency_id is null and live_workspace_id is null for update
    ) old where w.id = old.id returning old.billing_mode before`);
}

const ListedWorkspaceRow = z.object({
  workspaceId: z.string(),
  name: z.string(),
  agencyId: z.string().nullable(),
  agency: z.string().nullable(),
  owner: z.string().nullable(),
  billingMode: BillingMode,
  plan: Plan.nullable(),
  subscriptionStatus: SubscriptionStatus,
  suspendedAt: z.date().nullable(),
  lines: z.int(),
  createdAt: z.date(),
});

/** The live workspaces, oldest first. */
export async function listWorkspaces(
  db: SystemDb,
  { agencyId, limit }: { agencyId: string | null; limit: number },
): Promise<readonly z.infer<typeof ListedWorkspaceRow>[]> {
  return db.any(sql.type(ListedWorkspaceRow)`
    select w.id workspace_id, w.name, w.agency_id, a.name agency, (
        select u.email from workspace_members m join users u on u.id = m.user_id
        where m.workspace_id = w.id and m.is_owner limit 1
      ) "owner", coalesce(a.billing_mode, w.billing_mode) billing_mode, w.plan, w.subscription_status, w.suspended_at, (
        select count(*)::int from lines l where l.workspace_id = w.id and l.provisioning_status not in ('canceled', 'failed')
      ) lines, w.created_at
    from workspaces w left join agencies a on a.id = w.agency_id
    where w.live_workspace_id is null and (${agencyId}::text is null or w.agency_id = ${agencyId})
    order by w.id limit ${limit}`);
}

/** All workspaces, except those of test mode. */
export const liveWorkspaceIds = (db: SystemDb): Promise<readonly string[]> =>
  db.anyFirst(sql.type(IdRow)`select id from workspaces where live_workspace_id is null order by id`);

const ListedLineRow = z.object({
  lineId: z.string(),
  workspaceId: z.string(),
  workspace: z.string(),
  name: z.string(),
  channel: z.string(),
  address: z.string().nullable(),
  carrier: z.string(),
  status: z.string(),
  isActive: z.boolean(),
  isPaused: z.boolean(),
  health: z.string(),
  waiting: z.int(),
});

/** The most waiting messages of a line that are counted. */
const COUNTED_WAITING = 1000;

/** The lines of live workspaces, by workspace. */
export async function listLines(
  db: SystemDb,
  { workspaceId, limit }: { workspaceId: string | null; limit: number },
): Promise<readonly z.infer<typeof ListedLineRow>[]> {
  return db.any(sql.type(ListedLineRow)`
    select l.id line_id, l.workspace_id, w.name workspace, trim(l.first_name || ' ' || l.last_name) name, l.channel,
      coalesce(l.phone, l.email) address, l.carrier, l.provisioning_status status, l.is_active,
      l.paused_at is not null is_paused, l.health_status health, (
        select count(*)::int from (
          select from messages m where m.workspace_id = l.workspace_id and m.line_id = l.id and m.status in ('pending', 'scheduled')
          limit ${COUNTED_WAITING}
        ) counted
      ) waiting
    from lines l join workspaces w on w.id = l.workspace_id
    where w.live_workspace_id is null and (${workspaceId}::text is null or l.workspace_id = ${workspaceId})
    order by l.workspace_id, l.id limit ${limit}`);
}
