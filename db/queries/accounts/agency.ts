import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { SubAccount, type SubAccountInput } from '#domain/accounts/agency.ts';
import { UNSUBSCRIBED_MAILS_PER_DAY } from '#domain/accounts/limits.ts';
import { NoRows } from '#db/connection/rows.ts';
import {
  type SystemDb,
  type SystemTransaction,
  type TenantDb,
  waitLonger,
} from '#db/connection/transactions.ts';
import { insertWorkspace } from './tenants.ts';

const ClientRow = z.object({
  id: z.string(),
  name: z.string(),
  timezone: z.string(),
  /** Its subscription, which it needs, is past due. */
  isReadOnly: z.boolean(),
  /** By an operator. */
  isSuspended: z.boolean(),
});
/** A workspace of an agency. */
export type Client = z.infer<typeof ClientRow>;

const CLIENT = sql.fragment`id, name, timezone, subscription_status = 'past_due' and (
  select billing_mode from agencies where id = agency_id) <> 'none' is_read_only,
  suspended_at is not null is_suspended`;

/** Those older than the workspace of this id, one more than `limit`. */
export interface ClientPage {
  limit: number;
  cursor?: string | undefined;
}

const pageOf = (column: FragmentSqlToken, page: ClientPage | undefined) => ({
  after: page?.cursor !== undefined && sql.fragment`${column} < ${page.cursor}`,
  limit: page ? sql.fragment`limit ${page.limit + 1}` : sql.fragment``,
});

/** The agency's workspaces, newest first. @param page without it, all. */
export async function listClients(db: SystemDb, agencyId: string, page?: ClientPage): Promise<Client[]> {
  const { after, limit } = pageOf(sql.fragment`id`, page);
  const rows = await db.any(sql.type(ClientRow)`
    select ${CLIENT} from workspaces
    where ${sql.and([sql.fragment`agency_id = ${agencyId}`, after])} order by id desc ${limit}`);
  return [...rows];
}

/** One of the agency's workspaces; null if it does not exist or belongs to somebody else. */
export async function findClient(
  db: SystemDb,
  agencyId: string,
  workspaceId: string,
): Promise<Client | null> {
  return db.maybeOne(sql.type(ClientRow)`
    select ${CLIENT} from workspaces where agency_id = ${agencyId} and id = ${workspaceId}`);
}

/** Locks an agency until the transaction ends. Serializes changes that span two of its workspaces. */
export async function lockAgency(db: SystemTransaction, agencyId: string): Promise<void> {
  await waitLonger(db);
  await db.query(sql.type(NoRows)`select from agencies where id = ${agencyId} for no key update`);
}

/**
 * Lets an agency's transaction use the queries of one workspace. `client` must come from `findClient` or `listClients`,
 * which check that it belongs to the agency.
 */
export const inWorkspace = (db: SystemTransaction, client: Pick<Client, 'id'>): TenantDb =>
  Object.assign(Object.create(db) as object, {
    workspaceId: client.id,
    aheadMs: null,
  }) as unknown as TenantDb;

const SubAccountRow = SubAccount.omit({ idpOrgId: true, lineCount: true, createdAt: true }).extend({
  id: z.string(),
  createdAt: z.date(),
});
const LineCountRow = z.object({ workspaceId: z.string(), lineCount: z.int() });

export async function listSubAccounts(
  db: SystemDb,
  agencyId: string,
  page?: ClientPage,
): Promise<SubAccount[]> {
  return selectSubAccounts(db, agencyId, pageOf(sql.fragment`w.id`, page));
}

export async function findSubAccount(
  db: SystemDb,
  agencyId: string,
  workspaceId: string,
): Promise<SubAccount | null> {
  const only = { after: sql.fragment`w.id = ${workspaceId}`, limit: sql.fragment`` };
  const [found] = await selectSubAccounts(db, agencyId, only);
  return found ?? null;
}

async function selectSubAccounts(
  db: SystemDb,
  agencyId: string,
  { after, limit }: ReturnType<typeof pageOf>,
): Promise<SubAccount[]> {
  const rows = await db.any(sql.type(SubAccountRow)`
    select w.id, w.name, w.legal_name, w.timezone, w.plan, w.subscription_status, a.billing_mode, w.created_at
    from workspaces w join agencies a on a.id = w.agency_id
    where ${sql.and([sql.fragment`w.agency_id = ${agencyId}`, after])}
    order by w.id desc ${limit}`);
  const ids = rows.map(({ id }) => id);
  const counts = await db.any(sql.type(LineCountRow)`
    select workspace_id, count(*)::int line_count from lines
    where workspace_id = any(${sql.array(ids, 'text')}) and provisioning_status not in ('canceled', 'failed')
    group by workspace_id`);
  const lineCounts = new Map(counts.map(({ workspaceId, lineCount }) => [workspaceId, lineCount]));
  return rows.map(({ id, createdAt, ...row }) => ({
    idpOrgId: id,
    ...row,
    lineCount: lineCounts.get(id) ?? 0,
    createdAt: createdAt.toISOString(),
  }));
}

const UserIdRow = z.object({ userId: z.string() });

/** Creates a workspace whose first user is the agency's owner. */
export async function insertSubAccount(
  db: SystemDb,
  agencyId: string,
  input: SubAccountInput,
): Promise<{ workspaceId: string; ownerId: string | null }> {
  const ownerId = await db.maybeOneFirst(sql.type(UserIdRow)`
    select user_id from agency_members where agency_id = ${agencyId} and role = 'owner'`);
  // The agency's billing mode counts.
  const workspaceId = await insertWorkspace(db, { ...input, agencyId, billingMode: 'card', ownerId });
  return { workspaceId, ownerId };
}

/** The agency's workspace that a webhook belongs to. */
export async function clientOfWebhook(
  db: SystemDb,
  agencyId: string,
  webhookId: string,
): Promise<Client | null> {
  return db.maybeOne(sql.type(ClientRow)`
    select ${CLIENT} from workspaces
    where agency_id = ${agencyId} and id in (select workspace_id from webhooks where id = ${webhookId})`);
}

const MemberRow = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(['owner', 'co_admin']),
});
export type AgencyMember = z.infer<typeof MemberRow>;

export async function listAgencyMembers(db: SystemDb, agencyId: string): Promise<AgencyMember[]> {
  const rows = await db.any(sql.type(MemberRow)`
    select m.user_id, u.email, u.name, m.role from agency_members m join users u on u.id = m.user_id
    where m.agency_id = ${agencyId} order by m.role = 'owner' desc, m.user_id`);
  return [...rows];
}

/** @returns false if there is no such co-admin. The owner cannot be removed. */
export async function removeCoAdmin(db: SystemDb, agencyId: string, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from agency_members where agency_id = ${agencyId} and user_id = ${userId} and role = 'co_admin'`);
  return rowCount > 0;
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

const UnansweredRow = z.object({ isSubscribed: z.boolean(), mails: z.int() });

/**
 * Whether an agency may email an address that it has chosen: without a client that has, or had, a subscription, if it needs one, it shares
 * a few emails a day to that address with all others that have none.
 */
export async function mayMail(db: SystemTransaction, agencyId: string, recipient: string): Promise<boolean> {
  // Serializes agencies, so that the second sees the email of the first.
  await db.query(sql.type(NoRows)`
    select pg_advisory_xact_lock(hashtextextended(${`mail to ${recipient}`}, 0))`);
  const { isSubscribed, mails } = await db.one(sql.type(UnansweredRow)`
    select exists (
      select from workspaces where agency_id = ${agencyId} and subscription_status <> 'none'
    ) or exists (
      select from agencies where id = ${agencyId} and billing_mode = 'none'
    ) is_subscribed, (
      select count(*)::int from agency_mails
      where recipient = ${recipient} and created_at > now() - interval '1 day'
    ) mails`);
  return isSubscribed || mails < UNSUBSCRIBED_MAILS_PER_DAY;
}
