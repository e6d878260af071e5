import { z } from 'zod';
import { readable } from '#domain/base/bounded-schema.ts';
import type { Config } from '#domain/base/config.ts';
import { tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { boundedFetch, ResponseTooLarge } from '../bounded-fetch.ts';
import { ModelFailure } from './model.ts';

/** The longest audio that is transcribed, in seconds. */
export const MAX_TRANSCRIBED_SECONDS = 600;

/** The price of a second of audio in tokens, where the endpoint does not tell: what OpenAI counts. */
const TOKENS_PER_SECOND = 10;
/** Of the Opus that `transcribe` takes. */
const BYTES_PER_SECOND = 4000;

/** Enough for ten minutes of speech, and what some endpoints add. */
const MAX_RESPONSE_BYTES = 256 * 1024;

export interface Transcript {
  text: string;
  /** For the budget. */
  tokens: number;
}

/** A model that writes down speech. */
export interface Transcriber {
  /** Writes down Opus audio in an Ogg file. @throws ModelFailure, or any error once `signal` is aborted. */
  transcribe(audio: Uint8Array, signal: AbortSignal): Promise<Transcript>;
}

interface TranscriberOptions {
  /** The URL without `/audio/transcriptions`. */
  baseUrl: string;
  /** null if the endpoint requires none. */
  apiKey: string | null;
  model: string;
  timeoutMs: number;
  /** PEM file of the certificate authority of the endpoint; null: a public one. */
  caFile: string | null;
}

const Answer = z.object({
  text: z.string(),
  usage: readable(z.object({ total_tokens: readable(z.int()), seconds: readable(z.number().min(0)) })),
});

/** Any endpoint with OpenAI's transcription API: OpenAI, Groq, vLLM, Speaches, whisper.cpp. */
export function openAiTranscriber(options: TranscriberOptions): Transcriber {
  const { baseUrl, apiKey, model, timeoutMs, caFile } = options;
  const request = boundedFetch(MAX_RESPONSE_BYTES, caFile);
  const headers = { ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }) };

  async function ask(audio: Uint8Array, signal: AbortSignal): Promise<Transcript> {
    const body = new FormData();
    // The name says nothing of the contact's file.
    body.set('file', new Blob([new Uint8Array(audio)], { type: 'audio/ogg' }), 'voice-note.ogg');
    body.set('model', model);
    body.set('response_format', 'json');
    const url = `${baseUrl.replace(/\/$/, '')}/audio/transcriptions`;
    const response = await request(url, { method: 'POST', headers, body, signal, redirect: 'error' });
    if (!response.ok) throw new ModelFailure(`the model for transcription responded ${response.status}`);
    const answer = Answer.safeParse(tryParseUntrustedJson(await response.text()));
    if (!answer.success) throw new ModelFailure('the response is not a transcription');
    const { text, usage } = answer.data;
    const seconds = usage?.seconds ?? audio.length / BYTES_PER_SECOND;
    return { text, tokens: usage?.total_tokens ?? Math.ceil(seconds * TOKENS_PER_SECOND) };
  }

  return {
    async transcribe(audio, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        return await ask(audio, AbortSignal.any([signal, timeout]));
      } catch (error) {
        if (error instanceof ModelFailure || signal.aborted) throw error;
        if (error instanceof ResponseTooLarge) throw new ModelFailure(error.message, { cause: error });
        const what = timeout.aborted ? `did not respond within ${timeoutMs / 1000} s` : 'is unreachable';
        throw new ModelFailure(`the model for transcription ${what}`, { cause: error });
      }
    },
  };
}

/** The configured one, else the simulated one; null if there is neither. */
export function createTranscriber({ llm, simulator }: Pick<Config, 'llm' | 'simulator'>): Transcriber | null {
  const { timeoutMs } = llm;
  if (llm.transcription) return openAiTranscriber({ ...llm.transcription, timeoutMs });
  if (!simulator) return null;
  const baseUrl = `${simulator.url}/model/v1`;
  return openAiTranscriber({
    baseUrl,
    apiKey: simulator.secret,
    model: 'simulated',
    timeoutMs,
    caFile: null,
  });
}
