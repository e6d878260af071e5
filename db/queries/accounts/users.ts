import { sql } from 'slonik';
import { z } from 'zod';
import type { SystemDb } from '#db/connection/transactions.ts';

const UserRow = z.object({ id: z.string(), email: z.string() });
export type UserAddress = z.infer<typeof UserRow>;

/** The user with an email address, whatever its case. */
export async function userByEmail(db: SystemDb, email: string): Promise<UserAddress | null> {
  return db.maybeOne(sql.type(UserRow)`select id, email from users where lower(email) = lower(${email})`);
}

const ProfileRow = UserRow.extend({ name: z.string() });

export async function userById(db: SystemDb, id: string): Promise<z.infer<typeof ProfileRow> | null> {
  return db.maybeOne(sql.type(ProfileRow)`select id, email, name from users where id = ${id}`);
}

const PlaceRow = z.object({ workspaceId: z.string().nullable(), agencyId: z.string().nullable() });
/** Where a user belongs: a workspace, or the agency that they work for. */
type UserPlace = z.infer<typeof PlaceRow>;

/** The workspace that a user joined first, else the agency; null if they belong to none. */
export async function placeOfUser(db: SystemDb, userId: string): Promise<UserPlace | null> {
  return db.maybeOne(sql.type(PlaceRow)`
    select workspace_id, agency_id from (
      select workspace_id, null agency_id, joined_at from workspace_members where user_id = ${userId}
      union all
      select null, m.agency_id, m.joined_at from agency_members m join agencies a on a.id = m.agency_id and a.is_active
      where m.user_id = ${userId}
    ) places order by workspace_id is null, joined_at limit 1`);
}
