import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { AuditActor } from '#domain/accounts/audit.ts';
import type { ConversationNote } from '#domain/inbox/conversation-note.ts';
import { newId } from '#domain/base/ids.ts';
import { LimitReached, MAX_NOTES } from '#domain/accounts/limits.ts';
import { listInboxMembers } from './inbox-members.ts';

const NoteRow = z.object({
  id: z.string(),
  address: z.string(),
  authorType: AuditActor.shape.type,
  authorId: z.string().nullable(),
  authorName: z.string().nullable(),
  text: z.string(),
  mentions: z.array(z.string()),
  createdAt: z.date(),
});
export type NoteRow = z.infer<typeof NoteRow>;

export async function presentNotes(db: TenantDb, rows: readonly NoteRow[]): Promise<ConversationNote[]> {
  const members = await listInboxMembers(db, [...new Set(rows.flatMap(({ mentions }) => mentions))]);
  return rows.map((row) => ({
    _id: row.id,
    address: row.address,
    text: row.text,
    author: { type: row.authorType, id: row.authorId, name: row.authorName },
    mentions: members
      .filter(({ userId }) => row.mentions.includes(userId))
      .map(({ userId, name }) => ({ userId, name })),
    createdAt: row.createdAt.toISOString(),
  }));
}

/** Newest first; returns `limit + 1` rows if there are more. */
export async function pageOfNotes(
  db: TenantDb,
  address: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<NoteRow[]> {
  const rows = await db.any(sql.type(NoteRow)`
    select * from conversation_notes where ${sql.and([
      sql.fragment`workspace_id = ${db.workspaceId} and address = ${address}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
    ])} order by id desc limit ${limit + 1}`);
  return [...rows];
}

/** In the order of their ids, starting after `after`. */
export async function notesOf(
  db: TenantDb,
  addresses: readonly string[],
  { limit, after }: { limit: number; after: string },
): Promise<readonly NoteRow[]> {
  return db.any(sql.type(NoteRow)`
    select * from conversation_notes
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')}) and id > ${after}
    order by id limit ${limit}`);
}

/** By their ids, in any order. */
export async function findNotes(db: TenantDb, ids: readonly string[]): Promise<readonly NoteRow[]> {
  return db.any(sql.type(NoteRow)`
    select * from conversation_notes
    where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})`);
}

export async function findNote(db: TenantDb, id: string): Promise<NoteRow | null> {
  const [note] = await findNotes(db, [id]);
  return note ?? null;
}

/** Requires the lock of the conversation. @throws LimitReached if it has as many notes as it may. */
export async function insertNote(
  db: TenantDb,
  {
    address,
    text,
    author,
    mentions,
  }: { address: string; text: string; author: AuditActor; mentions: string[] },
  now: Date,
): Promise<NoteRow> {
  const isFull = await db.exists(sql.type(NoRows)`
    select from conversation_notes where workspace_id = ${db.workspaceId} and address = ${address}
    offset ${MAX_NOTES - 1} limit 1`);
  if (isFull) throw new LimitReached('notes');
  return db.one(sql.type(NoteRow)`
    insert into conversation_notes (workspace_id, id, address, author_type, author_id, author_name, text, mentions, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${address}, ${author.type}, ${author.id}, ${author.name}, ${text},
      ${sql.array(mentions, 'text')}, ${sql.timestamp(now)})
    returning *`);
}

export async function deleteNotesOf(db: TenantDb, addresses: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from conversation_notes
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})`);
}
