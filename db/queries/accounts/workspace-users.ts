import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';

const WorkspaceUserRow = z.object({ email: z.string(), isFirst: z.boolean() });

/**
 * Resolves contact owners: the workspace user with the given email, else the first user of the workspace. One query
 * for any number of contacts.
 */
export async function contactOwners(
  db: TenantDb,
  emails: readonly (string | null)[],
): Promise<(email: string | null) => string | null> {
  const wanted = [...new Set(emails.flatMap((email) => email?.trim().toLowerCase() ?? []))];
  const users = await db.any(sql.type(WorkspaceUserRow)`
    select email, is_first from (
      select email, row_number() over (order by joined_at, user_id) = 1 is_first from current_team()
      where position('@' in email) > 0
    ) u
    where is_first or lower(email) = any(${sql.array(wanted, 'text')})`);
  const known = new Map(users.map(({ email }) => [email.toLowerCase(), email]));
  const first = users.find(({ isFirst }) => isFirst)?.email ?? null;
  return (email) => (email === null ? first : (known.get(email.trim().toLowerCase()) ?? first));
}
