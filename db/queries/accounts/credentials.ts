import { sql } from 'slonik';
import { z } from 'zod';
import type { AgencyCaller, CallerWorkspace, WorkspaceCaller } from '#domain/accounts/caller.ts';
import { BillingMode, type Payment, SubscriptionStatus } from '#domain/billing/entitlement.ts';
import { KeyScope } from '#domain/accounts/key-scope.ts';
import { Role } from '#domain/accounts/team.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import { lookUp, readWhereItIs } from './lookups.ts';

const WorkspaceRow = z.object({
  id: z.string(),
  agencyId: z.string().nullable(),
  timezone: z.string(),
  country: z.string(),
  liveWorkspaceId: z.string().nullable(),
  billingMode: BillingMode,
  subscriptionStatus: SubscriptionStatus,
  keepsDripsQuiet: z.boolean(),
  suspended: z.boolean(),
});
const WORKSPACE = sql.fragment`w.id, w.agency_id, w.timezone, w.country, w.live_workspace_id,
  coalesce(l.subscription_status, w.subscription_status) subscription_status,
  coalesce((select billing_mode from agencies where id = coalesce(l.agency_id, w.agency_id)), l.billing_mode, w.billing_mode) billing_mode,
  coalesce(w.quiet_hours @> '{"enabled": true, "appliesTo": ["drip"]}', false) keeps_drips_quiet,
  coalesce(l.suspended_at, w.suspended_at) is not null suspended`;

/** The workspace that is live, for its twin: whoever pays for one pays for both. */
const LIVE = sql.fragment`left join workspaces l on l.id = w.live_workspace_id`;

const PaymentRow = WorkspaceRow.pick({ billingMode: true, subscriptionStatus: true });

/** Who pays for a workspace, and whether it is paid for; null: there is no such workspace. */
export const findPayment = (db: SystemDb, workspaceId: string): Promise<Payment | null> =>
  db.maybeOne(sql.type(PaymentRow)`
    select billing_mode, subscription_status from (select ${WORKSPACE} from workspaces w ${LIVE} where w.id = ${workspaceId}) as w`);

const AgencyRow = z.object({
  id: z.string(),
  isActive: z.boolean(),
  billingMode: BillingMode,
});
const AGENCY = sql.fragment`a.id, a.is_active, a.billing_mode`;

const KeyRow = z.object({ userId: z.string().nullable(), keyId: z.string(), keyName: z.string() });
const KEY = sql.fragment`k.created_by_user_id user_id, k.id key_id, k.name key_name`;

const UserRow = z.object({ userName: z.string().nullable() });
/** The name, or the email of a user without a name. */
const USER_NAME = sql.fragment`coalesce(nullif(u.name, ''), u.email) user_name`;

const USABLE = sql.fragment`k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`;

const WorkspaceWithKeyRow = WorkspaceRow.extend({
  ...KeyRow.shape,
  scopes: z.array(KeyScope),
  allowedIps: z.array(z.string()).nullable(),
  expires: z.boolean(),
});

/** The caller of a workspace key, in test mode in the workspace's twin; null if the key is unknown, revoked or expired. */
export async function workspaceByKey(db: SystemDb, hash: string): Promise<WorkspaceCaller | null> {
  const row = await readWhereItIs(db, 'key', hash, (workspaceId) =>
    db.maybeOne(sql.type(WorkspaceWithKeyRow)`
      select ${WORKSPACE}, ${KEY}, k.scopes, k.allowed_ips, k.expires_at is not null expires
      from workspace_keys k
      join workspaces w on k.mode = 'test' and w.live_workspace_id = ${workspaceId} or k.mode = 'live' and w.id = ${workspaceId}
      ${LIVE}
      where k.workspace_id = ${workspaceId} and k.hash = ${hash} and ${USABLE}`),
  );
  if (!row) return null;
  const { userId, keyId, keyName, scopes, allowedIps, expires, ...workspace } = row;
  const actor = { type: 'key', id: keyId, name: keyName } as const;
  return {
    kind: 'workspace',
    via: 'key',
    actor,
    key: { scopes, allowedIps, expires },
    workspace,
    userId,
    role: null,
  };
}

const AgencyWithKeyRow = AgencyRow.extend(KeyRow.shape);

export async function agencyByKey(db: SystemDb, hash: string): Promise<AgencyCaller | null> {
  const row = await db.maybeOne(sql.type(AgencyWithKeyRow)`
    select ${AGENCY}, ${KEY}
    from agency_keys k join agencies a on a.id = k.agency_id
    where k.hash = ${hash} and ${USABLE}`);
  if (!row) return null;
  const { userId, keyId, keyName, ...agency } = row;
  const actor = { type: 'key', id: keyId, name: keyName } as const;
  return { kind: 'agency', via: 'key', actor, agency, userId, role: null };
}

/** The twin of a live workspace; null if there is no twin with that id. */
export async function twinById(db: SystemDb, id: string): Promise<CallerWorkspace | null> {
  return db.maybeOne(sql.type(WorkspaceRow)`
    select ${WORKSPACE} from workspaces w ${LIVE} where w.id = ${id} and w.live_workspace_id is not null`);
}

const MembershipRow = WorkspaceRow.extend({
  ...UserRow.shape,
  /** null: they are not a member. */
  memberRole: Role.nullable(),
  /** They belong to the agency of the workspace. */
  isOfAgency: z.boolean(),
});

/** A signed-in user in a workspace. */
export interface Membership {
  workspace: CallerWorkspace;
  userName: string | null;
  memberRole: Role | null;
  isOfAgency: boolean;
}

/** A workspace, and the role of the signed-in user in it; null if it does not exist. */
export async function workspaceOfSession(
  db: SystemDb,
  id: string,
  userId: string,
): Promise<Membership | null> {
  const row = await db.maybeOne(sql.type(MembershipRow)`
    select ${WORKSPACE}, ${USER_NAME}, m.role member_role, exists (
      select from agency_members am join agencies a on a.id = am.agency_id
      where am.agency_id = w.agency_id and am.user_id = ${userId} and a.is_active
    ) is_of_agency
    from workspaces w ${LIVE} left join users u on u.id = ${userId}
    left join workspace_members m on m.workspace_id = w.id and m.user_id = ${userId}
    where w.id = ${id}`);
  if (!row) return null;
  const { userName, memberRole, isOfAgency, ...workspace } = row;
  return { workspace, userName, memberRole, isOfAgency };
}

const AgencyMemberRow = AgencyRow.extend({ role: z.enum(['owner', 'co_admin']), ...UserRow.shape });

/**
 * The agency that a signed-in user acts for.
 * @param agencyId null: the agency they own, otherwise the one they joined first.
 * @returns null if they are not a member.
 */
export async function agencyOfUser(
  db: SystemDb,
  userId: string,
  agencyId: string | null,
): Promise<AgencyCaller | null> {
  const row = await db.maybeOne(sql.type(AgencyMemberRow)`
    select ${AGENCY}, m.role, ${USER_NAME}
    from agency_members m join agencies a on a.id = m.agency_id join users u on u.id = m.user_id
    where m.user_id = ${userId} and (${agencyId}::text is null or a.id = ${agencyId})
    order by m.role = 'owner' desc, m.joined_at, a.created_at, a.id limit 1`);
  if (!row) return null;
  const { role, userName, ...agency } = row;
  const actor = { type: 'user', id: userId, name: userName } as const;
  return { kind: 'agency', via: 'session', actor, agency, userId, role };
}

/** Records the last use of a key, at most once a minute, so that most reads cause no write. */
export async function touchKey(db: SystemDb, hash: string): Promise<void> {
  const workspaceId = await lookUp(db, 'key', hash);
  const keys =
    workspaceId === null
      ? sql.fragment`agency_keys set last_used_at = now() where true`
      : sql.fragment`workspace_keys set last_used_at = now() where workspace_id = ${workspaceId}`;
  await db.query(sql.type(NoRows)`
    update ${keys} and hash = ${hash} and (last_used_at is null or last_used_at < now() - interval '1 minute')`);
}
