import { sql, type ValueExpression } from 'slonik';
import { z } from 'zod';
import { CONSOLE_CODE_MINUTES } from '#domain/accounts/console-code.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

/** The live workspace of a twin, or the workspace itself. */
const liveOf = (workspaceId: ValueExpression) => sql.fragment`
  (select coalesce(live_workspace_id, id) from workspaces where id = ${workspaceId})`;

/** Stores a code that signs in the owner of a workspace, in test mode in its twin, and deletes those that have expired. */
export async function insertConsoleCode(db: SystemDb, hash: string, workspaceId: string): Promise<void> {
  await db.query(sql.type(NoRows)`delete from console_codes where expires_at <= now()`);
  await db.query(sql.type(NoRows)`
    insert into console_codes (hash, workspace_id, user_id, expires_at)
    select ${hash}, ${workspaceId}, user_id, now() + make_interval(mins => ${CONSOLE_CODE_MINUTES})
    from workspace_members where workspace_id = ${liveOf(workspaceId)} and is_owner`);
}

const SignedInRow = z.object({
  workspaceId: z.string(),
  /** The live workspace, for which the session is. */
  organizationId: z.string(),
  userId: z.string(),
});

/** Uses up a code. @returns whom it signs in; null if it is unknown, was used, or has expired. */
export async function useConsoleCode(
  db: SystemDb,
  hash: string,
): Promise<z.infer<typeof SignedInRow> | null> {
  return db.maybeOne(sql.type(SignedInRow)`
    delete from console_codes where hash = ${hash} and expires_at > now()
    returning workspace_id, ${liveOf(sql.fragment`workspace_id`)} organization_id, user_id`);
}
