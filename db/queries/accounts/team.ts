import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { Role, type TeamMember } from '#domain/accounts/team.ts';
import { NameRow } from '#db/connection/rows.ts';
import { findAbsences } from '../inbox/absences.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

const MemberRow = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  role: Role,
  isOwner: z.boolean(),
  joinedAt: z.date(),
});

/** The users of the workspace, the owner first. */
export async function listTeam(db: TenantDb, now: Date = currentTime()): Promise<TeamMember[]> {
  const absences = new Map((await findAbsences(db, now)).map(({ userId, until }) => [userId, until]));
  const rows = await db.any(sql.type(MemberRow)`
    select * from current_team() order by is_owner desc, joined_at, user_id`);
  return rows.map(({ email, joinedAt, ...row }) => ({
    ...row,
    // An id stands in for an address that is not known.
    email: email.includes('@') ? email : '',
    joinedAt: joinedAt.toISOString(),
    away: absences.has(row.userId),
    awayUntil: absences.get(row.userId)?.toISOString() ?? null,
  }));
}

const EmailRow = z.object({ email: z.string() });

/** The address of a workspace's owner; null if there is none. */
export async function ownerEmail(db: SystemDb, workspaceId: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(EmailRow)`
    select u.email from workspace_members m join users u on u.id = m.user_id
    where m.workspace_id = ${workspaceId} and m.is_owner and u.email like '%@%' limit 1`);
}

export async function workspaceName(db: TenantDb): Promise<string> {
  return db.oneFirst(sql.type(NameRow)`select name from workspaces where id = ${db.workspaceId}`);
}
