import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSomebodyElse } from '#test/conformance/http-carrier-worlds.ts';
import { openAiTranscriber, type Transcriber } from './transcriber.ts';

let server: Awaited<ReturnType<typeof startSomebodyElse>>;
let transcriber: Transcriber;
beforeAll(async () => {
  server = await startSomebodyElse();
  const options = { apiKey: 'sk', model: 'm', timeoutMs: 1000, caFile: null };
  transcriber = openAiTranscriber({ baseUrl: server.url, ...options });
});
afterAll(() => server.stop());

/** Of two seconds. */
const AUDIO = new Uint8Array(8000);
const transcribe = (status: number, body: unknown) => {
  server.answer(status, 'application/json', typeof body === 'string' ? body : JSON.stringify(body));
  return transcriber.transcribe(AUDIO, new AbortController().signal);
};

describe('a transcription', () => {
  it.each([
    [{ text: 'Hello' }, 20],
    [{ text: 'Hello', usage: { type: 'tokens', input_tokens: 14, output_tokens: 3, total_tokens: 17 } }, 17],
    [{ text: 'Hello', usage: { type: 'duration', seconds: 3 } }, 30],
    [{ text: 'Hello', usage: { type: 'duration', seconds: -1 } }, 20],
    [{ text: 'Hello', usage: 'none', segments: [{}] }, 20],
  ])('is read, with its cost: %j', async (body, tokens) => {
    expect(await transcribe(200, body)).toEqual({ text: 'Hello', tokens });
  });

  it.each([
    [200, '<html>Welcome</html>', 'the response is not a transcription'],
    [200, '{"text":5}', 'the response is not a transcription'],
    [401, '{}', 'the model for transcription responded 401'],
    [500, 'Hello', 'the model for transcription responded 500'],
    [302, '', 'the model for transcription is unreachable'],
    [200, `{"text":"${'a'.repeat(300_000)}"}`, 'the response has more than'],
  ])('is not taken from %i %s', async (status, body, reason) => {
    await expect(transcribe(status, body)).rejects.toThrow(reason);
  });
});
