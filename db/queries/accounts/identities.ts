import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';
import type { Profile } from '#domain/accounts/identity-claims.ts';

const UserRow = z.object({ id: z.string() });

/**
 * The user that a person is who signed in at the identity provider: the one they were before; otherwise the one that was created
 * with their verified email address and has not signed in there; otherwise a new one with the id `subject`.
 */
export async function userOfSubject(
  db: SystemDb,
  subject: string,
  { email }: Pick<Profile, 'email'>,
): Promise<string> {
  const known = await db.maybeOneFirst(sql.type(UserRow)`
    select id from (
      select user_id id, 0 rank from user_identities where subject = ${subject}
      union all
      select id, 1 from users where id = ${subject}
      union all
      select id, 2 from users u
      where lower(email) = lower(${email}) and not exists (select from user_identities i where i.user_id = u.id)
    ) known order by rank limit 1`);
  return known ?? subject;
}

/** Records who a user is at the identity provider, and their name and address there. An address that another user has is left out. */
export async function recordIdentity(
  db: SystemDb,
  subject: string,
  userId: string,
  { name, email }: Profile,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into user_identities (subject, user_id) values (${subject}, ${userId}) on conflict do nothing`);
  await updateProfile(db, userId, { name, email });
}

/** Stores the name and the address that the provider gives of a user; what it does not give stays. */
export async function updateProfile(db: SystemDb, userId: string, { name, email }: Profile): Promise<void> {
  if (name === null && email === null) return;
  await db.query(sql.type(NoRows)`
    update users u set name = coalesce(${name}, u.name), email = coalesce(given.email, u.email)
    from (
      select (select ${email}::text where not exists (
        select from users other where lower(other.email) = lower(${email}) and other.id <> ${userId})) email
    ) given
    where u.id = ${userId}
      and (u.name, u.email) is distinct from (coalesce(${name}, u.name), coalesce(given.email, u.email))`);
}
