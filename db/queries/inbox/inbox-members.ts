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

const TeamMemberRow = z.object({ userId: z.string(), email: z.string(), isAdmin: z.boolean() });

/** A member of the workspace with their role; null: they are none any more. */
export async function findTeamMember(
  db: TenantDb,
  userId: string,
): Promise<z.infer<typeof TeamMemberRow> | null> {
  return db.maybeOne(sql.type(TeamMemberRow)`
    select user_id, email, role = 'org:admin' or is_owner is_admin from current_team() where user_id = ${userId}`);
}

export async function findInboxMember(db: TenantDb, userId: string): Promise<InboxMember | null> {
  const [member] = await listInboxMembers(db, [userId]);
  return member ?? null;
}
