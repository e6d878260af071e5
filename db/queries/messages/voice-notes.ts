import { sql } from 'slonik';
import { z } from 'zod';
import { VOICE_NOTE_CHANNEL } from '#domain/messages/voice-note.ts';
import { deterministicId } from '#domain/base/ids.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/** The number of upcoming messages to convert ahead of time. */
const LOOKAHEAD = 20;

const UrlRow = z.object({ url: z.string() });

/** The attachment links of a line's voice messages that are due by `until`. */
export async function voiceNoteUrls(db: TenantDb, lineId: string, until: Date): Promise<string[]> {
  const urls = await db.anyFirst(sql.type(UrlRow)`
    select distinct unnest(m.attachment_urls) url from (
      select attachment_urls from messages
      where workspace_id = ${db.workspaceId} and line_id = ${lineId} and voice_note and status in ('pending', 'scheduled')
        and not held and channel = ${VOICE_NOTE_CHANNEL} and scheduled_at <= ${sql.timestamp(until)}
      order by scheduled_at limit ${LOOKAHEAD}
    ) m`);
  return [...urls];
}

const NamedRow = z.object({ id: z.string(), name: z.string() });

/** Those of the audio files that have no voice note yet. */
export async function findAudioWithoutNote(
  db: TenantDb,
  ids: readonly string[],
): Promise<{ id: string; name: string }[]> {
  if (ids.length === 0) return [];
  const rows = await db.any(sql.type(NamedRow)`
    select a.id, a.name from attachments a
    where a.workspace_id = ${db.workspaceId} and a.id = any(${sql.array([...ids], 'text')}) and a.status = 'stored'
      and a.content_type like 'audio/%' and not exists (
        select from attachments n where n.workspace_id = a.workspace_id and n.voice_note_of = a.id)`);
  return [...rows];
}

const VoiceNote = z.object({
  id: z.string(),
  status: z.enum(['stored', 'failed']),
  contentType: z.string().nullable(),
});
export type VoiceNote = z.infer<typeof VoiceNote>;

/** The voice note of an audio file; null until it is created, `failed` if the file cannot be decoded. */
export async function findVoiceNote(db: TenantDb, audioId: string): Promise<VoiceNote | null> {
  return db.maybeOne(sql.type(VoiceNote)`
    select id, status, content_type from attachments where workspace_id = ${db.workspaceId} and voice_note_of = ${audioId}`);
}

/** Deterministic, so that concurrent conversions of a file produce one note. */
export const voiceNoteId = (audioId: string): string => deterministicId(`voice note of ${audioId}`);

/** @param size null if the file cannot be decoded. */
export async function insertVoiceNote(
  db: TenantDb,
  {
    audioId,
    name,
    contentType,
    size,
  }: { audioId: string; name: string; contentType: string; size: number | null },
): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into attachments (workspace_id, id, name, content_type, size, status, voice_note_of)
    values (${db.workspaceId}, ${voiceNoteId(audioId)}, ${name}, ${contentType}, ${size}, ${size === null ? 'failed' : 'stored'}, ${audioId})
    on conflict do nothing`);
}
