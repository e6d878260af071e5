import { sql } from 'slonik';
import { z } from 'zod';
import { Role } from '#domain/accounts/team.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

const MemberRow = z.object({ role: Role, isOwner: z.boolean() });
export type Member = z.infer<typeof MemberRow>;

/**
 * Finds a member, and locks the workspace's members until the transaction ends, so that the second of two concurrent
 * changes sees the first.
 */
export async function lockMember(db: TenantDb, userId: string): Promise<Member | null> {
  const rows = await db.any(sql.type(MemberRow.extend({ userId: z.string() }))`
    select user_id, role, is_owner from workspace_members where workspace_id = ${db.workspaceId}
    order by user_id for update`);
  const row = rows.find((member) => member.userId === userId);
  return row ? { role: row.role, isOwner: row.isOwner } : null;
}

/** How many other members are admins. */
export async function countOtherAdmins(db: TenantDb, userId: string): Promise<number> {
  return db.oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*)::int count from workspace_members
    where workspace_id = ${db.workspaceId} and role = 'org:admin' and user_id <> ${userId}`);
}

export async function setMemberRole(db: TenantDb, userId: string, role: Role): Promise<void> {
  await db.query(sql.type(NoRows)`
    update workspace_members set role = ${role} where workspace_id = ${db.workspaceId} and user_id = ${userId}`);
}

/** Removes a member permanently: only a new invitation makes them a member again. */
export async function removeMember(db: TenantDb, userId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from workspace_members where workspace_id = ${db.workspaceId} and user_id = ${userId}`);
  await db.query(sql.type(NoRows)`
    insert into former_members (workspace_id, user_id) values (${db.workspaceId}, ${userId})
    on conflict (workspace_id, user_id) do update set removed_at = excluded.removed_at`);
}

/**
 * Makes a user of the identity provider's organization a member at their first session. An admin becomes the owner if the workspace
 * has none. The provider may give no email address, so the id takes its place.
 */
export async function joinByFirstSession(
  db: SystemDb,
  workspaceId: string,
  userId: string,
  role: Role,
): Promise<'joined' | 'known' | 'removed'> {
  await db.query(sql.type(NoRows)`select from workspaces where id = ${workspaceId} for no key update`);
  if (
    await db.exists(sql.type(NoRows)`
      select from former_members where workspace_id = ${workspaceId} and user_id = ${userId}`)
  )
    return 'removed';
  await db.query(sql.type(NoRows)`
    insert into users (id, email) values (${userId}, ${userId}) on conflict do nothing`);
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into workspace_members (workspace_id, user_id, role, is_owner)
    select ${workspaceId}, ${userId}, ${role}, ${role === 'org:admin'} and
      not exists (select from workspace_members where workspace_id = ${workspaceId} and is_owner)
    on conflict (workspace_id, user_id) do nothing`);
  return rowCount > 0 ? 'joined' : 'known';
}

/** Gives a member the role that the identity provider names. An owner stays an admin. @returns whether it changed. */
export async function followProviderRole(
  db: SystemDb,
  workspaceId: string,
  userId: string,
  role: Role,
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update workspace_members set role = ${role}
    where workspace_id = ${workspaceId} and user_id = ${userId} and role <> ${role} and not is_owner`);
  return rowCount > 0;
}
