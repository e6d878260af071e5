import { sql } from 'slonik';
import { z } from 'zod';
import { DEFAULT_KNOWLEDGE_BASE, KnowledgeBase } from '#domain/knowledge-base.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';

export async function findKnowledgeBase(db: TenantDb): Promise<KnowledgeBase> {
  const found = await db.maybeOne(sql.type(KnowledgeBase)`
    select mode, instructions, documents, debounce_seconds from knowledge_bases where workspace_id = ${db.workspaceId}`);
  return found ?? DEFAULT_KNOWLEDGE_BASE;
}

export async function saveKnowledgeBase(db: TenantDb, base: KnowledgeBase): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into knowledge_bases (workspace_id, mode, instructions, documents, debounce_seconds)
    values (${db.workspaceId}, ${base.mode}, ${base.instructions}, ${sql.jsonb(base.documents)}, ${base.debounceSeconds})
    on conflict (workspace_id) do update set mode = excluded.mode, instructions = excluded.instructions,
      documents = excluded.documents, debounce_seconds = excluded.debounce_seconds, updated_at = excluded.updated_at`);
}

const Copilot = z.object({ debounceSeconds: z.int() });

/** The pause before a draft is written, in seconds; null if the copilot is off. */
export async function copilotDebounce(db: TenantDb): Promise<number | null> {
  const found = await db.maybeOne(sql.type(Copilot)`
    select debounce_seconds from knowledge_bases where workspace_id = ${db.workspaceId} and mode = 'copilot'`);
  return found?.debounceSeconds ?? null;
}
