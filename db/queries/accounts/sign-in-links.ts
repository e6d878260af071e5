import { sql } from 'slonik';
import { z } from 'zod';
import {
  EMAILED_LINK_MINUTES,
  hashSignInToken,
  newSignInToken,
  PRINTED_LINK_MINUTES,
} from '#domain/accounts/sign-in-link.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

/**
 * Stores a link that signs a user in once.
 * @param browserHash the hash of the cookie of the only browser that it signs in. null: an operator's command prints the link, which
 *   signs in any browser.
 * @returns its token, for `signInLink`.
 */
export async function createSignInLink(
  db: SystemDb,
  userId: string,
  browserHash: string | null,
): Promise<string> {
  const token = newSignInToken();
  const minutes = browserHash === null ? PRINTED_LINK_MINUTES : EMAILED_LINK_MINUTES;
  await db.query(sql.type(NoRows)`
    insert into sign_in_links (hash, user_id, browser_hash, expires_at)
    values (${hashSignInToken(token)}, ${userId}, ${browserHash}, now() + make_interval(mins => ${minutes}))`);
  return token;
}

const LinkRow = z.object({ userId: z.string(), email: z.string(), browserHash: z.string().nullable() });
type FoundSignInLink = z.infer<typeof LinkRow>;

/** The link of a token; null if it is unknown, was used or has expired. */
export async function findSignInLink(db: SystemDb, token: string): Promise<FoundSignInLink | null> {
  return db.maybeOne(sql.type(LinkRow)`
    select l.user_id, u.email, l.browser_hash from sign_in_links l join users u on u.id = l.user_id
    where l.hash = ${hashSignInToken(token)} and l.expires_at > now()`);
}

const UserRow = z.object({ userId: z.string() });

/**
 * Uses up a link.
 * @returns whom it signs in; null if it is unknown, was used, has expired, or belongs to another browser.
 */
export async function useSignInLink(
  db: SystemDb,
  token: string,
  browserHash: string | null,
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(UserRow)`
    delete from sign_in_links
    where hash = ${hashSignInToken(token)} and expires_at > now()
      and (browser_hash is null or browser_hash = ${browserHash})
    returning user_id`);
}
