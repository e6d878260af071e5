import { buffer } from 'node:stream/consumers';
import { currentTime, fromNow } from '#domain/base/clock.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { receiveTranscript } from '#db/commands/inbox/transcripts.ts';
import { modelBudget } from '#db/queries/drafts/ai-usage.ts';
import { settleTranscript, type Untranscribed } from '#db/queries/messages/transcripts.ts';
import { EXHAUSTED, isExhausted } from '#domain/drafts/ai-budget.ts';
import { toStorable } from '#domain/base/text.ts';
import { UnreadableAudio } from '#providers/audio/voice-note.ts';
import { ModelFailure } from '#providers/models/model.ts';
import { storageKey } from '#providers/storage/storage.ts';
import { countTokens } from '../drafts/ask-model.ts';
import type { Dependencies } from '../dependencies.ts';

const MAX_TRIES = 4;
const FIRST_RETRY_MS = 15_000;
/** In characters. Ten minutes of speech have about as many. */
const MAX_TRANSCRIPT = 10_000;

type Needs = Pick<
  Dependencies,
  'pools' | 'storage' | 'makeVoiceNote' | 'transcriber' | 'testTranscriber' | 'onModelTokens' | 'logger'
>;

/** Has the audio of contacts written down. */
export function createTranscription(needs: Needs) {
  const { pools, storage, makeVoiceNote, transcriber, testTranscriber, onModelTokens, logger } = needs;

  /** @returns null: the message stays without a transcript. @throws ModelFailure, UnreadableAudio */
  async function hear(workspaceId: string, id: string, canceled: AbortSignal): Promise<string | null> {
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);
    const budget = await tenant((db) => modelBudget(db, currentTime()));
    const model = budget.isTest ? testTranscriber : transcriber;
    if (!model) return null;
    if (isExhausted(budget)) {
      logger.warn({ workspaceId, attachmentId: id, reason: EXHAUSTED }, 'a voice note was not transcribed');
      return null;
    }
    const stored = await storage.open(storageKey(workspaceId, id));
    if (!stored) return null;
    // Decoded where hostile audio can do no harm, and of a length and a format that every endpoint takes.
    const audio = await makeVoiceNote(stored, buffer, 'ogg');
    const { text, tokens } = await model.transcribe(audio, canceled);
    if (!budget.isTest) onModelTokens(tokens);
    await tenant((db) => countTokens(db, budget, tokens, currentTime()));
    return toStorable(text).trim().slice(0, MAX_TRANSCRIPT);
  }

  return async (workspaceId: string, file: Untranscribed, canceled: AbortSignal): Promise<void> => {
    const { id, tries } = file;
    try {
      const text = await hear(workspaceId, id, canceled);
      await withTenant(pools, workspaceId, async (db) => {
        if (text === null) await settleTranscript(db, id, null);
        else await receiveTranscript(db, file, text, currentTime());
      });
    } catch (error) {
      if (canceled.aborted) throw error;
      const isFinal = error instanceof UnreadableAudio || tries + 1 >= MAX_TRIES;
      // The reason of unreadable audio repeats what ffmpeg says of it.
      const reason = error instanceof ModelFailure ? error.message : (error as Error).name;
      logger.warn(
        { workspaceId, attachmentId: id, tries: tries + 1, reason },
        'a voice note was not transcribed',
      );
      const tryAt = isFinal ? null : fromNow(FIRST_RETRY_MS * 4 ** tries);
      await withTenant(pools, workspaceId, (db) => settleTranscript(db, id, tryAt));
    }
  };
}
