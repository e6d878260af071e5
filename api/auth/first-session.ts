import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { followProviderRole, joinByFirstSession } from '#db/queries/accounts/members.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import type { Config } from '#domain/base/config.ts';
import { Role } from '#domain/accounts/team.ts';

type Provisioning = Pick<Config['auth'], 'provisionMembers'>;

/**
 * Makes a user a member whom the identity provider names in the organization of the workspace: an admin, or with
 * `AUTH_PROVISION_MEMBERS` anybody.
 * @returns false if they may not join, or were removed before.
 */
export async function joinByProvider(
  db: SystemDb,
  workspaceId: string,
  userId: string,
  named: string | null,
  { provisionMembers }: Provisioning,
): Promise<boolean> {
  const role = Role.safeParse(named).data;
  if (role === undefined || (role === 'org:member' && !provisionMembers)) return false;
  const outcome = await joinByFirstSession(db, workspaceId, userId, role);
  if (outcome === 'joined')
    await insertAuditEntry({ db, workspaceId }, { ...entryOf(userId, role), action: 'member.joined' });
  return outcome !== 'removed';
}

/** With `AUTH_PROVISION_MEMBERS`, members have the role that the identity provider names. */
export async function updateByProvider(
  db: SystemDb,
  workspaceId: string,
  userId: string,
  named: string | null,
  { provisionMembers }: Provisioning,
): Promise<void> {
  const role = Role.safeParse(named).data;
  if (role === undefined || !provisionMembers) return;
  if (await followProviderRole(db, workspaceId, userId, role))
    await insertAuditEntry({ db, workspaceId }, { ...entryOf(userId, role), action: 'member.updated' });
}

const entryOf = (userId: string, role: Role) =>
  ({
    actor: { type: 'user', id: userId, name: null },
    channel: 'session',
    target: { type: 'member', id: userId },
    changes: { role },
  }) as const;
