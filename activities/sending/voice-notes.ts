import { setTimeout as pause } from 'node:timers/promises';
import { fromNow } from '#domain/base/clock.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import {
  findAudioWithoutNote,
  insertVoiceNote,
  voiceNoteId,
  voiceNoteUrls,
} from '#db/queries/messages/voice-notes.ts';
import { VOICE_NOTES_AHEAD_MS, voiceNoteName } from '#domain/messages/voice-note.ts';
import { MAX_NOTE_BYTES, UnreadableAudio, VOICE_NOTE_TYPE } from '#providers/audio/voice-note.ts';
import { storageKey } from '#providers/storage/storage.ts';
import type { Dependencies } from '../dependencies.ts';
import { ownFile } from './outbound-files.ts';

/** The longest time that a line's other messages wait for voice notes, which are then completed concurrently. */
const MAX_WAIT_MS = 30_000;

/** Makes voice notes before their messages are claimed, because a claimed message must be sent within seconds. */
export function createVoiceNotes({
  pools,
  storage,
  links,
  makeVoiceNote,
  logger,
}: Pick<Dependencies, 'pools' | 'storage' | 'links' | 'makeVoiceNote' | 'logger'>) {
  const underway = new Map<string, Promise<void>>();

  async function make(workspaceId: string, { id, name }: { id: string; name: string }): Promise<void> {
    const note = { audioId: id, name: voiceNoteName(name), contentType: VOICE_NOTE_TYPE };
    const done = (size: number | null) =>
      withTenant(pools, workspaceId, (db) => insertVoiceNote(db, { ...note, size }));
    try {
      const audio = await storage.open(storageKey(workspaceId, id));
      if (!audio) throw new Error('the file no longer exists');
      const key = storageKey(workspaceId, voiceNoteId(id));
      await done(
        await makeVoiceNote(audio, (made) => storage.put(key, made, MAX_NOTE_BYTES, VOICE_NOTE_TYPE)),
      );
    } catch (error) {
      logger.warn({ workspaceId, attachmentId: id, error }, 'a voice note could not be created');
      // Any other error is retried.
      if (error instanceof UnreadableAudio) await done(null);
    } finally {
      underway.delete(id);
    }
  }

  return {
    /** Makes the voice notes that a line is about to send, one per file. */
    async prepare({ lineId, workspaceId }: { lineId: string; workspaceId: string }): Promise<void> {
      const missing = await withTenant(pools, workspaceId, async (db: TenantDb) => {
        const urls = await voiceNoteUrls(db, lineId, fromNow(VOICE_NOTES_AHEAD_MS));
        return findAudioWithoutNote(
          db,
          urls.flatMap((url) => ownFile(url, workspaceId, links) ?? []),
        );
      });
      if (missing.length === 0) return;
      const made = missing.map((file) => {
        const making = underway.get(file.id) ?? make(workspaceId, file);
        underway.set(file.id, making);
        return making;
      });
      await Promise.race([Promise.allSettled(made), pause(MAX_WAIT_MS, undefined, { ref: false })]);
    },
  };
}
