import type { NewAuditEntry } from '#domain/accounts/audit.ts';
import type { BillingMode } from '#domain/billing/entitlement.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { hasOwner, lockInstallation, useSetupCode } from '#db/queries/accounts/installation.ts';
import { ensureUser, insertAgency, insertWorkspace, type Person } from '#db/queries/accounts/tenants.ts';
import type { SystemTransaction } from '#db/connection/transactions.ts';

export interface FirstTenant {
  workspaceName: string;
  timezone: string;
  country: string;
  /** null: the workspace has no agency. */
  agencyName: string | null;
  owner: Person;
  billingMode: Exclude<BillingMode, 'invoice'>;
}

export interface SetUp {
  workspaceId: string;
  agencyId: string | null;
  userId: string;
  userName: string;
}

/** Creates the first owner, with a workspace and perhaps an agency, for who has the current code. Of two at once, one does. */
export async function setUp(
  db: SystemTransaction,
  codeHash: string,
  { workspaceName: name, timezone, country, agencyName, owner, billingMode }: FirstTenant,
): Promise<SetUp | 'already_set_up' | 'wrong_code'> {
  await lockInstallation(db);
  if (await hasOwner(db)) return 'already_set_up';
  if (!(await useSetupCode(db, codeHash))) return 'wrong_code';
  const user = await ensureUser(db, owner);
  const agencyId =
    agencyName === null ? null : await insertAgency(db, { name: agencyName, billingMode, ownerId: user.id });
  const workspaceId = await insertWorkspace(db, {
    name,
    timezone,
    country,
    agencyId,
    billingMode,
    ownerId: user.id,
  });
  const entry: NewAuditEntry = {
    actor: { type: 'user', id: user.id, name: user.name },
    channel: 'session',
    action: 'workspace.created',
    target: { type: 'workspace', id: workspaceId },
    changes: { name, timezone, country },
  };
  await insertAuditEntry({ db, workspaceId }, entry);
  if (agencyId !== null) await insertAuditEntry({ db, agencyId }, entry);
  return { workspaceId, agencyId, userId: user.id, userName: user.name };
}
