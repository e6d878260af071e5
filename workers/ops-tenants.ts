import { grantPlan, PaidAtProvider } from '#db/commands/billing/billing.ts';
import {
  createAgency,
  type CreatedTenant,
  createWorkspace,
  inviteCoAdmin,
  inviteMember,
  NoSuchTenant,
  setBilling,
  suspendOrResume,
} from '#db/commands/accounts/operators.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { listLines, listWorkspaces, lockWorkspace } from '#db/queries/accounts/tenants.ts';
import { type SystemTransaction, systemDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import { SubAccountInput } from '#domain/accounts/agency.ts';
import { byOperator } from '#domain/accounts/audit.ts';
import { BillingMode, Plan } from '#domain/billing/entitlement.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { PRINTED_LINK_MINUTES, signInLink } from '#domain/accounts/sign-in-link.ts';
import { INVITATION_DAYS } from '#domain/accounts/team.ts';
import type { Order } from '#workflows/protocol/updates.ts';
import {
  type Command,
  type Options,
  orderCommand,
  Refused,
  type Session,
  WrongUsage,
} from './ops-command.ts';

/** The commands that make tenants, and list, suspend and resume them. They work while Temporal is away. */

const LISTED = 1000;
const MAX_LISTED = 100_000;

const tenantCommand = (command: Parameters<typeof orderCommand>[0]): Command => ({
  ...orderCommand(command),
  needsTemporal: false,
});

export const TENANT_COMMANDS: Record<string, Command> = {
  'create-agency': tenantCommand({
    argument: 'NAME',
    options: '--owner EMAIL [--billing card|invoice|none]',
    summary:
      'makes an agency and prints a one-time link for its owner; with the name and the owner of an agency that exists, only the link',
    async run(session, given, order, { owner, billing }) {
      const { name } = fieldsOf({ name: given });
      const billingMode =
        billing === undefined ? session.newBillingMode : choice(BillingMode, billing, '--billing');
      const email = emailOf(owner, '--owner');
      const { id, ...created } = await inSystem(session, (db) =>
        createAgency(db, { name, email, billingMode }, entranceOf(session, order)),
      );
      return { agencyId: id, ...shown(session, created) };
    },
  }),
  'create-workspace': tenantCommand({
    argument: 'NAME',
    options: '--owner EMAIL [--agency AGENCY_ID] [--timezone ZONE] [--country CODE]',
    summary:
      'makes a workspace and prints a one-time link for its owner, with --agency by default the owner of the agency; with the name and the owner of a workspace that exists, only the link',
    async run(session, given, order, { owner, agency, timezone, country }) {
      if (owner === undefined && agency === undefined) throw new WrongUsage('--owner EMAIL is required');
      const fields = fieldsOf({ name: given, timezone, country });
      const { id, ...created } = await inSystem(session, (db) =>
        createWorkspace(
          db,
          {
            ...fields,
            agencyId: agency ?? null,
            email: owner === undefined ? null : emailOf(owner, '--owner'),
            billingMode: session.newBillingMode,
          },
          entranceOf(session, order),
        ),
      );
      return { workspaceId: id, ...shown(session, created) };
    },
  }),
  invite: tenantCommand({
    argument: 'EMAIL',
    options: '--workspace WORKSPACE_ID [--role admin|member] | --agency AGENCY_ID',
    summary:
      'adds a person to a workspace, or as a co-admin to an agency, and prints a one-time link for them; who is a member keeps their role',
    async run(session, given, order, { workspace, agency: agencyId, role: asked }) {
      if (agencyId !== undefined) {
        if (workspace !== undefined) throw new WrongUsage('--workspace and --agency exclude each other');
        if (asked !== undefined) throw new WrongUsage('--role is of a workspace: an agency has co-admins');
        const coAdmin = { agencyId, email: emailOf(given, 'EMAIL') };
        const invited = await inSystem(session, (db) =>
          inviteCoAdmin(db, coAdmin, entranceOf(session, order)),
        );
        return { agencyId, ...shown(session, invited) };
      }
      const role = asked ?? 'member';
      const workspaceId = workspaceOf(workspace);
      if (role !== 'admin' && role !== 'member') throw new WrongUsage('--role must be admin or member');
      const person = { workspaceId, email: emailOf(given, 'EMAIL'), role: `org:${role}` } as const;
      const invited = await inSystem(session, (db) => inviteMember(db, person, entranceOf(session, order)));
      return { workspaceId, ...shown(session, invited) };
    },
  }),
  'set-plan': tenantCommand({
    wakes: true,
    argument: 'WORKSPACE_ID',
    options: '--plan mini|starter|growth',
    summary:
      'gives a workspace a plan that is not charged; refused while it pays for one at the payment provider',
    async run({ pools }, workspaceId, order, { plan: given }) {
      const plan = choice(Plan, given, '--plan');
      await requireWorkspace(pools, workspaceId);
      await withTenant(pools, workspaceId, async (db) => {
        if (!(await grantPlan(db, plan))) return;
        const target = { type: 'workspace', id: workspaceId } as const;
        await insertAuditEntry(
          { db, workspaceId },
          { ...byOperator(order), action: 'subscription.changed', target, changes: { plan } },
        );
      }).catch((error: unknown) => {
        if (error instanceof PaidAtProvider)
          throw new Refused('INVALID_STATE', 'The workspace pays for its plan at the payment provider');
        throw error;
      });
      return { workspaceId, plan };
    },
  }),
  'set-billing': tenantCommand({
    wakes: true,
    argument: 'AGENCY_OR_WORKSPACE',
    options: '--billing card|invoice|none',
    summary:
      'sets who pays in an agency, or for a workspace without one; with none, no plan is needed and nothing waits for a payment',
    async run(session, id, order, { billing }) {
      const mode = choice(BillingMode, billing, '--billing');
      const isWorkspace = WorkspaceId.safeParse(id).success;
      if (isWorkspace && mode === 'invoice') throw new WrongUsage('Only an agency pays by invoice');
      const payer = isWorkspace && mode !== 'invoice' ? { workspaceId: id, mode } : { agencyId: id, mode };
      await inSystem(session, (db) => setBilling(db, payer, byOperator(order)));
      return { id, billingMode: mode };
    },
  }),
  'suspend-workspace': suspension(
    true,
    'the workspace sends nothing and refuses changes until it is resumed; its messages keep their places',
  ),
  'resume-workspace': suspension(false, 'a suspended workspace sends again and accepts changes'),
  'list-workspaces': {
    argument: null,
    options: `[--agency AGENCY_ID] [--limit COUNT]`,
    summary: 'the workspaces with their owners, plans and numbers of lines',
    needsTemporal: false,
    async run({ pools }, _id, { agency, limit }) {
      const query = { agencyId: agency ?? null, limit: limitOf(limit) };
      return { workspaces: await listWorkspaces(systemDb(pools), query) };
    },
  },
  'list-lines': {
    argument: null,
    options: `[--workspace WORKSPACE_ID] [--limit COUNT]`,
    summary: 'the lines with their workspaces, carriers, states and up to 1,000 waiting messages of each',
    needsTemporal: false,
    async run({ pools }, _id, { workspace, limit }) {
      const workspaceId = workspace === undefined ? null : workspaceOf(workspace);
      return { lines: await listLines(systemDb(pools), { workspaceId, limit: limitOf(limit) }) };
    },
  },
};

function suspension(isSuspended: boolean, summary: string): Command {
  return tenantCommand({
    wakes: true,
    argument: 'WORKSPACE_ID',
    summary,
    async run(session, workspaceId, order) {
      await inSystem(session, (db) => suspendOrResume(db, workspaceId, isSuspended, byOperator(order)));
      return { workspaceId, isSuspended };
    },
  });
}

/** @throws Refused with `NOT_FOUND` */
function inSystem<T>({ pools }: Session, work: (db: SystemTransaction) => Promise<T>): Promise<T> {
  return withSystem(pools, work).catch((error: unknown) => {
    if (error instanceof NoSuchTenant) throw new Refused('NOT_FOUND', error.message);
    throw error;
  });
}

async function requireWorkspace(pools: Session['pools'], workspaceId: string): Promise<void> {
  const found = await withSystem(pools, (db) => lockWorkspace(db, workspaceId));
  if (!found) throw new Refused('NOT_FOUND', `There is no workspace ${workspaceId}`);
}

const entranceOf = ({ hasIdentityProvider }: Session, order: Order) => ({
  hasIdentityProvider,
  author: byOperator(order),
});

/** What is printed: the link is shown only here. */
function shown({ publicUrl }: Session, { isNew, link }: Omit<CreatedTenant, 'id'>) {
  const isSignIn = link.kind === 'sign_in';
  const minutes = isSignIn ? PRINTED_LINK_MINUTES : INVITATION_DAYS * 24 * 60;
  return {
    created: isNew,
    link: isSignIn ? signInLink(publicUrl, link.token) : `${publicUrl}/invitations/${link.token}`,
    linkExpiresAt: new Date(Date.now() + minutes * 60_000).toISOString(),
  };
}

function fieldsOf(given: { name: string; timezone?: string | undefined; country?: string | undefined }) {
  const parsed = SubAccountInput.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new WrongUsage(`${issue?.path.join('.')}: ${issue?.message}`);
}

function emailOf(given: string | undefined, option: string): string {
  const email = given === undefined ? null : normalizeEmail(given);
  if (email === null) throw new WrongUsage(`${option} must be an email address`);
  return email;
}

function workspaceOf(given: Options['workspace']): string {
  const parsed = WorkspaceId.safeParse(given);
  if (!parsed.success) throw new WrongUsage('--workspace must be the id of a workspace');
  return parsed.data;
}

function choice<Value extends string>(
  { options }: { options: readonly Value[] },
  given: string | undefined,
  option: string,
): Value {
  const found = options.find((value) => value === given);
  if (found === undefined) throw new WrongUsage(`${option} must be one of ${options.join(', ')}`);
  return found;
}

function limitOf(given: string | undefined): number {
  const limit = Number(given ?? LISTED);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LISTED)
    throw new WrongUsage(`--limit must be a number from 1 to ${MAX_LISTED}`);
  return limit;
}
