import { sql } from 'slonik';
import { z } from 'zod';
import { CARRIER_LINK_DAYS } from '#domain/messages/attachment.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { SystemDb } from '#db/connection/transactions.ts';

const ExpiredUpload = z.object({ workspaceId: z.string(), id: z.string(), noteId: z.string().nullable() });
/** An expired upload, and the voice note made from it. */
export type ExpiredUpload = z.infer<typeof ExpiredUpload>;

export async function expiredUploads(db: SystemDb, limit: number): Promise<ExpiredUpload[]> {
  const rows = await db.any(sql.type(ExpiredUpload)`
    select a.workspace_id, a.id, n.id note_id from attachments a
    left join attachments n on n.workspace_id = a.workspace_id and n.voice_note_of = a.id
    where a.kept_until < now() order by a.kept_until limit ${limit}`);
  return [...rows];
}

const LinkRow = z.object({ link: z.string() });

/**
 * The links to files that a workspace still needs: of unsent messages, of messages that the carrier may still fetch files
 * for, of buffered drips, and of campaigns that may still send.
 */
export async function neededLinks(db: SystemDb, workspaceId: string): Promise<string[]> {
  const links = await db.anyFirst(sql.type(LinkRow)`
    select unnest(attachment_urls) link from messages
    where workspace_id = ${workspaceId} and attachment_urls <> '{}'
      and (status in ('pending', 'scheduled', 'sending') or fallback_sms = 'due')
    union select unnest(attachment_urls) from messages
    where workspace_id = ${workspaceId} and attachment_urls <> '{}' and sent_at > now() - ${`${CARRIER_LINK_DAYS} days`}::interval
    union select jsonb_array_elements_text(draft -> 'attachmentUrls') from drip_buffer where workspace_id = ${workspaceId}
    union select jsonb_path_query(steps, '$.**.attachmentUrls[*]') #>> '{}' from campaigns
    where workspace_id = ${workspaceId} and status <> 'archived'`);
  return [...links];
}

/** Postpones the expiry of uploads by a day. */
export async function keepUploads(db: SystemDb, workspaceId: string, ids: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    update attachments set kept_until = now() + interval '1 day'
    where workspace_id = ${workspaceId} and id = any(${sql.array([...ids], 'text')})`);
}

/** Deletes the rows of uploads and of their voice notes, after the files. */
export async function forgetUploads(
  db: SystemDb,
  workspaceId: string,
  ids: readonly string[],
): Promise<void> {
  const gone = sql.array([...ids], 'text');
  await db.query(sql.type(NoRows)`
    delete from attachments where workspace_id = ${workspaceId} and (id = any(${gone}) or voice_note_of = any(${gone}))`);
}
