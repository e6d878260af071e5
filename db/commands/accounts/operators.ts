import type { SubAccountInput } from '#domain/accounts/agency.ts';
import { currentTime } from '#domain/base/clock.ts';
import type { AuditAction, AuditChanges, AuditTarget, NewAuditEntry } from '#domain/accounts/audit.ts';
import type { BillingMode } from '#domain/billing/entitlement.ts';
import { hashSecretToken, newSecretToken } from '#domain/base/secret-token.ts';
import type { Role } from '#domain/accounts/team.ts';
import { wakeAwaiting } from '#db/commands/billing/billing.ts';
import { wakeAllLines } from '#db/commands/lines/wake-all-lines.ts';
import { inWorkspace, listClients } from '#db/queries/accounts/agency.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { lockInstallation } from '#db/queries/accounts/installation.ts';
import {
  deleteInvitation,
  type InvitationStore,
  openInvitationOf,
  upsertInvitation,
} from '#db/queries/accounts/invitations.ts';
import { createSignInLink } from '#db/queries/accounts/sign-in-links.ts';
import {
  activatePastDue,
  addCoAdmin,
  addMember,
  agencyOwner,
  ensureUser,
  findAgencyByName,
  findWorkspaceByName,
  hasAgency,
  insertAgency,
  insertWorkspace,
  lockWorkspace,
  setAgencyBilling,
  setSuspended,
  setWorkspaceBilling,
} from '#db/queries/accounts/tenants.ts';
import type { SystemTransaction } from '#db/connection/transactions.ts';

/** An operator, as the audit log names them. */
export type Author = Pick<NewAuditEntry, 'actor' | 'channel' | 'reason'>;

/** There is no workspace, agency or owner. The message names what is missing. */
export class NoSuchTenant extends Error {}

/**
 * The one-time link for a person: signs them in, or, where people sign in at an identity provider, invites who signs in there.
 */
export type PersonLink = { kind: 'sign_in' | 'invitation'; token: string };

/** How people get in: by links of the product, or by invitations for users of the identity provider. */
type Entrance = { hasIdentityProvider: boolean; author: Author };

export interface CreatedTenant {
  id: string;
  isNew: boolean;
  link: PersonLink;
}

/** Creates an agency with its owner, unless there is one with that name and owner. */
export async function createAgency(
  db: SystemTransaction,
  { name, email, billingMode }: { name: string; email: string; billingMode: BillingMode },
  { hasIdentityProvider, author }: Entrance,
): Promise<CreatedTenant> {
  await lockInstallation(db);
  const found = await findAgencyByName(db, name, email);
  // The identity provider decides who the owner will be.
  const user = hasIdentityProvider ? null : await ensureUser(db, { email, name: '' });
  const id = found ?? (await insertAgency(db, { name, billingMode, ownerId: user?.id ?? null }));
  if (found === null)
    await recordIn(
      db,
      { agencyId: id },
      author,
      'agency.created',
      { type: 'agency', id },
      { name, billingMode },
    );
  const link = user ? await signInLinkOf(db, user.id) : await invite({ db, agencyId: id }, email, null);
  return { id, isNew: found === null, link };
}

export interface WorkspaceOrder extends SubAccountInput {
  agencyId: string | null;
  /** null: the owner of the agency. */
  email: string | null;
  billingMode: Exclude<BillingMode, 'invoice'>;
}

/** Creates a workspace with its owner, unless there is one with that name, agency and owner. @throws NoSuchTenant */
export async function createWorkspace(
  db: SystemTransaction,
  { email: given, ...order }: WorkspaceOrder,
  { hasIdentityProvider, author }: Entrance,
): Promise<CreatedTenant> {
  await lockInstallation(db);
  const { name, timezone, country, agencyId } = order;
  if (agencyId !== null && !(await hasAgency(db, agencyId)))
    throw new NoSuchTenant(`There is no agency ${agencyId}`);
  const email = given ?? (agencyId === null ? null : await agencyOwner(db, agencyId));
  if (email === null) throw new NoSuchTenant('The agency has no owner yet: name one with --owner');
  const found = await findWorkspaceByName(db, { name, agencyId, email });
  const user = hasIdentityProvider ? null : await ensureUser(db, { email, name: '' });
  const id = found ?? (await insertWorkspace(db, { ...order, ownerId: user?.id ?? null }));
  if (found === null) {
    const target = { type: 'workspace', id } as const;
    await recordIn(db, { workspaceId: id, agencyId }, author, 'workspace.created', target, {
      name,
      timezone,
      country,
    });
  }
  const store = { db: inWorkspace(db, { id }), workspaceId: id };
  const link = user ? await signInLinkOf(db, user.id) : await invite(store, email, 'org:admin');
  return { id, isNew: found === null, link };
}

/** Adds a person to a workspace. Who is a member keeps their role. @throws NoSuchTenant */
export async function inviteMember(
  db: SystemTransaction,
  { workspaceId, email, role }: { workspaceId: string; email: string; role: Role },
  { hasIdentityProvider, author }: Entrance,
): Promise<Omit<CreatedTenant, 'id'>> {
  if (!(await lockWorkspace(db, workspaceId))) throw new NoSuchTenant(`There is no workspace ${workspaceId}`);
  if (hasIdentityProvider) {
    const link = await invite({ db: inWorkspace(db, { id: workspaceId }), workspaceId }, email, role);
    return { isNew: true, link };
  }
  const user = await ensureUser(db, { email, name: '' });
  const isNew = await addMember(db, { workspaceId, userId: user.id, role });
  if (isNew) {
    const target = { type: 'member', id: user.id } as const;
    await recordIn(db, { workspaceId, agencyId: null }, author, 'member.joined', target, { role });
  }
  return { isNew, link: await signInLinkOf(db, user.id) };
}

/** Adds a person to an agency as a co-admin. Who is a member keeps their role. @throws NoSuchTenant */
export async function inviteCoAdmin(
  db: SystemTransaction,
  { agencyId, email }: { agencyId: string; email: string },
  { hasIdentityProvider, author }: Entrance,
): Promise<Omit<CreatedTenant, 'id'>> {
  if (!(await hasAgency(db, agencyId))) throw new NoSuchTenant(`There is no agency ${agencyId}`);
  if (hasIdentityProvider) return { isNew: true, link: await invite({ db, agencyId }, email, null) };
  const user = await ensureUser(db, { email, name: '' });
  const isNew = await addCoAdmin(db, { agencyId, userId: user.id });
  const target = { type: 'agency_admin', id: user.id } as const;
  if (isNew) await recordIn(db, { agencyId }, author, 'agency_admin.joined', target);
  return { isNew, link: await signInLinkOf(db, user.id) };
}

/** Suspends a workspace, which then sends nothing and refuses changes, or resumes it. @throws NoSuchTenant */
export async function suspendOrResume(
  db: SystemTransaction,
  workspaceId: string,
  isSuspended: boolean,
  author: Author,
): Promise<void> {
  const workspace = await lockWorkspace(db, workspaceId);
  if (!workspace) throw new NoSuchTenant(`There is no workspace ${workspaceId}`);
  const changed = await setSuspended(db, workspaceId, isSuspended);
  if (changed.length === 0) return;
  for (const id of changed) await wakeAllLines(inWorkspace(db, { id }), currentTime());
  const action = isSuspended ? 'workspace.suspended' : 'workspace.resumed';
  await recordIn(db, { workspaceId, ...workspace }, author, action, { type: 'workspace', id: workspaceId });
}

/** An agency, or a workspace without one. */
export type Payer =
  | { agencyId: string; mode: BillingMode }
  | { workspaceId: string; mode: Exclude<BillingMode, 'invoice'> };

/** Sets who pays. What waits for a payment or a subscription goes on if none is needed any more. @throws NoSuchTenant */
export async function setBilling(db: SystemTransaction, payer: Payer, author: Author): Promise<void> {
  const { mode } = payer;
  const isAgency = 'agencyId' in payer;
  const id = isAgency ? payer.agencyId : payer.workspaceId;
  const before = isAgency
    ? await setAgencyBilling(db, id, payer.mode)
    : await setWorkspaceBilling(db, id, payer.mode);
  if (before === null)
    throw new NoSuchTenant(`There is no ${isAgency ? 'agency' : 'workspace without an agency'} ${id}`);
  if (before === mode) return;
  if (mode === 'invoice') await activatePastDue(db, id);
  const clients = isAgency ? await listClients(db, id) : [{ id }];
  for (const client of clients) {
    const tenant = inWorkspace(db, client);
    await wakeAllLines(tenant, currentTime());
    await wakeAwaiting(tenant);
  }
  const log = isAgency ? { agencyId: id } : { workspaceId: id, agencyId: null };
  const target = { type: isAgency ? 'agency' : 'workspace', id } as const;
  await recordIn(db, log, author, 'subscription.changed', target, { billingMode: mode });
}

const signInLinkOf = async (db: SystemTransaction, userId: string): Promise<PersonLink> => ({
  kind: 'sign_in',
  token: await createSignInLink(db, userId, null),
});

/** Each call makes a new link, which ends the one before. */
async function invite(store: InvitationStore, email: string, role: Role | null): Promise<PersonLink> {
  const open = await openInvitationOf(store, email);
  if (open !== null) await deleteInvitation(store, open);
  const token = newSecretToken();
  const invitation = {
    email,
    role,
    tokenHash: hashSecretToken(token),
    userId: null,
    keyId: null,
    now: currentTime(),
  };
  await upsertInvitation(store, invitation);
  return { kind: 'invitation', token };
}

/** Records a change in the log of the workspace, and in that of its agency. */
async function recordIn(
  db: SystemTransaction,
  { workspaceId, agencyId }: { workspaceId?: string; agencyId: string | null },
  author: Author,
  action: AuditAction,
  target: AuditTarget,
  changes: AuditChanges = {},
): Promise<void> {
  const entry = { ...author, action, target, changes };
  if (workspaceId !== undefined) await insertAuditEntry({ db, workspaceId }, entry);
  if (agencyId !== null) await insertAuditEntry({ db, agencyId }, entry);
}
