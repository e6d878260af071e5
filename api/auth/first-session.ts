import { insertAuditEntry } from '#db/queries/audit-log.ts';
import { joinByFirstSession } from '#db/queries/members.ts';
import type { SystemDb } from '#db/transactions.ts';

/** Makes an admin of the identity provider's organization a member. @returns false if they were removed before. */
export async function joinAsAdmin(db: SystemDb, workspaceId: string, userId: string): Promise<boolean> {
  const outcome = await joinByFirstSession(db, workspaceId, userId);
  if (outcome === 'joined') await insertAuditEntry({ db, workspaceId }, joined(userId));
  return outcome !== 'removed';
}

const joined = (userId: string) =>
  ({
    actor: { type: 'user', id: userId, name: null },
    channel: 'session',
    action: 'member.joined',
    target: { type: 'member', id: userId },
    changes: { role: 'org:admin' },
  }) as const;
