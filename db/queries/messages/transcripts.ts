import { sql } from 'slonik';
import { z } from 'zod';
import { AtRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** In bytes. Larger files are no voice notes. */
const MAX_AUDIO_BYTES = 16 * 1024 * 1024;

/** Has a file of a contact transcribed, if it is audio and the copilot is on. */
export async function awaitTranscript(db: TenantDb, attachmentId: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update attachments a set transcribe_at = ${sql.timestamp(now)}
    where a.workspace_id = ${db.workspaceId} and a.id = ${attachmentId} and a.status = 'stored'
      and starts_with(lower(a.content_type), 'audio/') and a.size <= ${MAX_AUDIO_BYTES}
      and exists (
        select from inbound_messages i
        where i.workspace_id = ${db.workspaceId} and i.id = a.inbound_message_id and not i.auto_reply and i.warning is null
          and not starts_with(i.address, 'group:') and not starts_with(i.address, 'erased:'))
      and exists (select from knowledge_bases k where k.workspace_id = ${db.workspaceId} and k.mode <> 'off')`);
}

const UntranscribedRow = z.object({ id: z.string(), replyId: z.string(), tries: z.int() });
export type Untranscribed = z.infer<typeof UntranscribedRow>;

/** Files that are due to be transcribed, the longest overdue first. */
export const dueTranscripts = (db: TenantDb, now: Date, limit: number): Promise<readonly Untranscribed[]> =>
  db.any(sql.type(UntranscribedRow)`
    select id, inbound_message_id reply_id, transcribe_tries tries from attachments
    where workspace_id = ${db.workspaceId} and transcribe_at <= ${sql.timestamp(now)}
    order by transcribe_at limit ${limit}`);

/** When the next file is due; null if none is waiting. */
export const nextTranscriptAt = (db: TenantDb): Promise<Date | null> =>
  db.oneFirst(sql.type(AtRow)`
    select min(transcribe_at) "at" from attachments where workspace_id = ${db.workspaceId} and transcribe_at is not null`);

/** @param tryAt null: not again. @returns false if the file was erased meanwhile. */
export async function settleTranscript(
  db: TenantDb,
  attachmentId: string,
  tryAt: Date | null,
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update attachments set transcribe_at = ${tryAt && sql.timestamp(tryAt)}, transcribe_tries = transcribe_tries + 1
    where workspace_id = ${db.workspaceId} and id = ${attachmentId} and transcribe_at is not null`);
  return rowCount > 0;
}
