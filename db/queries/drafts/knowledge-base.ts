import { sql } from 'slonik';
import { z } from 'zod';
import type { Passage, PassageMatch } from '#domain/drafts/document-choice.ts';
import { DEFAULT_KNOWLEDGE_BASE, KnowledgeBase, KnowledgeDocument } from '#domain/drafts/knowledge-base.ts';
import { insertion } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

export async function findKnowledgeBase(db: TenantDb): Promise<KnowledgeBase> {
  const found = await db.maybeOne(sql.type(KnowledgeBase)`
    select mode, instructions, documents, debounce_seconds, autopilot, disclosure from knowledge_bases where workspace_id = ${db.workspaceId}`);
  return found ?? DEFAULT_KNOWLEDGE_BASE;
}

export async function saveKnowledgeBase(db: TenantDb, base: KnowledgeBase): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into knowledge_bases (workspace_id, mode, instructions, documents, debounce_seconds, autopilot, disclosure)
    values (${db.workspaceId}, ${base.mode}, ${base.instructions}, ${sql.jsonb(base.documents)}, ${base.debounceSeconds},
      ${sql.jsonb(base.autopilot)}, ${base.disclosure})
    on conflict (workspace_id) do update set mode = excluded.mode, instructions = excluded.instructions,
      documents = excluded.documents, debounce_seconds = excluded.debounce_seconds, autopilot = excluded.autopilot, disclosure = excluded.disclosure,
      updated_at = excluded.updated_at`);
}

const Copilot = z.object({ debounceSeconds: z.int() });

/** The pause before a draft is written, in seconds; null if the copilot is off. */
export async function copilotDebounce(db: TenantDb): Promise<number | null> {
  const found = await db.maybeOne(sql.type(Copilot)`
    select debounce_seconds from knowledge_bases where workspace_id = ${db.workspaceId} and mode <> 'off'`);
  return found?.debounceSeconds ?? null;
}

const DraftingRow = KnowledgeBase.pick({ mode: true, instructions: true }).extend({
  isIndexed: z.boolean(),
  characters: z.int(),
});

/** What the copilot needs for a draft but the documents. */
export async function draftingOf(db: TenantDb): Promise<z.infer<typeof DraftingRow>> {
  const found = await db.maybeOne(sql.type(DraftingRow)`
    select mode, instructions, passages_of is not distinct from updated_at is_indexed,
      (select coalesce(sum(size), 0)::int from document_passages p where p.workspace_id = k.workspace_id) characters
    from knowledge_bases k where workspace_id = ${db.workspaceId}`);
  return found ?? { ...DEFAULT_KNOWLEDGE_BASE, isIndexed: true, characters: 0 };
}

const DocumentsRow = z.object({ version: z.string(), documents: z.array(KnowledgeDocument) });

/** The documents, and when they were saved; null if there are none. */
export async function documentsToIndex(db: TenantDb): Promise<z.infer<typeof DocumentsRow> | null> {
  return db.maybeOne(sql.type(DocumentsRow)`
    select updated_at::text "version", documents from knowledge_bases where workspace_id = ${db.workspaceId}`);
}

/** Passages of one statement, which is some 200 KB. */
const PASSAGES_AT_ONCE = 50;

/** Replaces the passages, unless the documents have changed since `version`. */
export async function savePassages(
  db: TenantDb,
  version: string,
  passages: readonly Passage[],
): Promise<void> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update knowledge_bases set passages_of = updated_at
    where workspace_id = ${db.workspaceId} and updated_at = ${version}::timestamptz`);
  if (rowCount === 0) return;
  await db.query(sql.type(NoRows)`delete from document_passages where workspace_id = ${db.workspaceId}`);
  for (let start = 0; start < passages.length; start += PASSAGES_AT_ONCE) {
    const rows = passages.slice(start, start + PASSAGES_AT_ONCE).map((passage, index) => ({
      ...passage,
      workspaceId: db.workspaceId,
      position: start + index,
      size: passage.text.length,
    }));
    await db.query(sql.type(NoRows)`${insertion('document_passages', rows)}`);
  }
}

const PassageMatchRow = z.object({ position: z.int(), size: z.int(), words: z.array(z.string()) });

/** All passages, each with those of the words that it has. */
export async function matchPassages(
  db: TenantDb,
  words: readonly string[],
): Promise<readonly PassageMatch[]> {
  return db.any(sql.type(PassageMatchRow)`
    select position, size, array(
      select word from unnest(p.words) word where word = any(${sql.array([...words], 'text')})) words
    from document_passages p where workspace_id = ${db.workspaceId}`);
}

/** Passages as documents, in their order. */
export async function passagesAt(
  db: TenantDb,
  positions: readonly number[],
): Promise<readonly KnowledgeDocument[]> {
  return db.any(sql.type(KnowledgeDocument)`
    select title, text from document_passages
    where workspace_id = ${db.workspaceId} and position = any(${sql.array([...positions], 'int4')})
    order by position`);
}
