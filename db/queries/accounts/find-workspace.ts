import { sql } from 'slonik';
import { z } from 'zod';
import type { SystemDb } from '#db/connection/transactions.ts';

const OWNED = {
  message: { table: 'messages', key: 'id' },
  campaign: { table: 'campaigns', key: 'id' },
  draft: { table: 'ai_drafts', key: 'reply_id' },
} as const;

/** The workspace of an object whose id an operator knows; null if there is none. Looks up the primary key in each workspace. */
export async function findWorkspaceOf(
  db: SystemDb,
  kind: keyof typeof OWNED,
  id: string,
): Promise<string | null> {
  const { table, key } = OWNED[kind];
  return db.maybeOneFirst(sql.type(z.object({ workspaceId: z.string() }))`
    select w.id workspace_id from workspaces w where exists (
      select from ${sql.identifier([table])} t where t.workspace_id = w.id and t.${sql.identifier([key])} = ${id})`);
}
