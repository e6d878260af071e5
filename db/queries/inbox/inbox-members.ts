import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';

const MemberRow = z.object({ userId: z.string(), email: z.string(), name: z.string(), inboxSince: z.date() });
export type InboxMember = z.infer<typeof MemberRow>;

/** The members who may answer conversations; in test mode those of the live workspace. */
export async function listInboxMembers(
  db: TenantDb,
  userIds: readonly string[],
): Promise<readonly InboxMember[]> {
  return db.any(sql.type(MemberRow)`
    select * from inbox_members() where user_id = any(${sql.array([...userIds], 'text')})`);
}

export async function findInboxMember(db: TenantDb, userId: string): Promise<InboxMember | null> {
  const [member] = await listInboxMembers(db, [userId]);
  return member ?? null;
}
