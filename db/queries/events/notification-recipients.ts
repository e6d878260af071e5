import { sql } from 'slonik';
import { z } from 'zod';
import type { NotificationKind } from '#domain/events/notification.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const Recipient = z.object({ userId: z.string(), email: z.string(), isAdmin: z.boolean() });
export type Recipient = z.infer<typeof Recipient>;

const MutableRecipientRow = Recipient.extend({ muted: z.boolean() });

/**
 * The recipients of a notification: the contact's owner if they are a user of the workspace, else the owner and the
 * admins. Recipients who turned this kind of email off are dropped without a substitute.
 */
export async function notificationRecipients(
  db: TenantDb,
  kind: NotificationKind,
): Promise<(contactOwnerEmail: string | null) => Recipient[]> {
  const users = await db.any(sql.type(MutableRecipientRow)`
    select u.user_id, u.email, u.role = 'org:admin' or u.is_owner is_admin, n.user_id is not null muted
    from current_team() u
    left join notification_mutes n on n.workspace_id = ${db.workspaceId} and n.user_id = u.user_id and n.kind = ${kind}
    where position('@' in u.email) > 0
    order by u.joined_at, u.user_id`);
  const admins = users.filter(({ isAdmin }) => isAdmin);
  return (ownerEmail) => {
    const owner = users.find(({ email }) => email.toLowerCase() === ownerEmail?.trim().toLowerCase());
    return (owner ? [owner] : admins).filter(({ muted }) => !muted);
  };
}
