import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { firstOf, readable, readableOf } from '#domain/base/bounded-schema.ts';
import { realTime } from '#domain/base/clock.ts';
import { retryAfterMs } from '#domain/base/retry-after.ts';
import type { DraftPrompt } from '#domain/drafts/draft-prompt.ts';
import { tryParseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { boundedFetch, ResponseTooLarge } from '../bounded-fetch.ts';
import { type Model, type ModelAnswer, ModelFailure } from './model.ts';

export interface OpenAiOptions {
  /** The URL without `/chat/completions`, for example `https://api.openai.com/v1`. */
  baseUrl: string;
  /** null if the endpoint requires none. */
  apiKey: string | null;
  model: string;
  /** The time limit of all attempts together. */
  timeoutMs: number;
  /** PEM file of the certificate authority of the endpoint; null: a public one. */
  caFile: string | null;
}

const CHECK_TIMEOUT_MS = 5000;
/** The key is missing, wrong or may not be used. */
const REFUSED = [401, 403];
const TRIES = 3;
const FIRST_RETRY_MS = 1000;
/** If `Retry-After` is longer, the call fails. */
const MAX_RETRY_MS = 10_000;
/** Enough for the longest message and its JSON. */
const MAX_TOKENS = 1500;
/** Some models add their reasoning. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** Some endpoints answer in parts, of which some are no text. */
const MAX_PARTS = 100;
const Content = z.union([
  z.string(),
  readableOf(z.object({ text: z.string() }), MAX_PARTS).transform((parts) =>
    parts.map(({ text }) => text).join(''),
  ),
]);

/** Only the text must be in the expected form. */
const Completion = z.object({
  choices: firstOf(
    z.object({
      message: z.object({ content: Content.nullish(), refusal: readable(z.string()) }),
      finish_reason: readable(z.string()),
    }),
    1,
  ),
  usage: readable(z.object({ prompt_tokens: z.int(), completion_tokens: z.int() })),
});

/** The message of an error is not read: it may quote the prompt, and reasons enter histories and logs. */
const Failed = z.object({
  error: z.object({
    code: z
      .string()
      .regex(/^[\w.-]{1,50}$/)
      .nullish(),
  }),
});

/** Any endpoint with OpenAI's chat completions API: OpenAI, vLLM, Ollama, llama.cpp, LiteLLM. */
export function openAiModel({ baseUrl, apiKey, model, timeoutMs, caFile }: OpenAiOptions): Model {
  const root = baseUrl.replace(/\/$/, '');
  const url = `${root}/chat/completions`;
  const headers = {
    'content-type': 'application/json',
    ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
  };

  const request = boundedFetch(MAX_RESPONSE_BYTES, caFile);

  async function ask(prompt: DraftPrompt, signal: AbortSignal): Promise<ModelAnswer> {
    const body = JSON.stringify({
      model,
      messages: [
        { role: 'system', content: prompt.instructions },
        { role: 'user', content: prompt.data },
      ],
      response_format: { type: 'json_object' },
      max_completion_tokens: MAX_TOKENS,
      stream: false,
    });
    for (let tries = 1; ; tries += 1) {
      const response = await request(url, { method: 'POST', headers, body, signal, redirect: 'error' });
      const text = await response.text();
      if (response.ok) return read(text);
      const failure = refusalOf(response.status, text);
      const asked = retryAfterMs(response.headers.get('retry-after'), realTime());
      const wait = asked ?? FIRST_RETRY_MS * 2 ** (tries - 1);
      const again =
        (response.status === 429 || response.status >= 500) && failure.code !== 'insufficient_quota';
      if (!again || tries === TRIES || wait > MAX_RETRY_MS) throw new ModelFailure(failure.reason);
      await delay(wait, undefined, { signal });
    }
  }

  return {
    name: model,
    async answer(prompt, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        return await ask(prompt, AbortSignal.any([signal, timeout]));
      } catch (error) {
        if (error instanceof ModelFailure || signal.aborted) throw error;
        if (timeout.aborted)
          throw new ModelFailure(`the model did not respond within ${timeoutMs / 1000} s`, { cause: error });
        if (error instanceof ResponseTooLarge) throw new ModelFailure(error.message, { cause: error });
        throw new ModelFailure('the model is unreachable', { cause: error });
      }
    },
    async check() {
      const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
      try {
        const response = await request(`${root}/models`, { headers, signal, redirect: 'error' });
        const { status } = response;
        // Not every endpoint lists its models.
        if (REFUSED.includes(status) || status >= 500)
          throw new ModelFailure(`the model responded ${status}`);
        if (response.ok && tryParseUntrustedJson(await response.text()) === undefined)
          throw new ModelFailure("the response is not the model's own");
      } catch (error) {
        if (error instanceof ModelFailure) throw error;
        // A long list of models is a response as well.
        if (error instanceof ResponseTooLarge) return;
        throw new ModelFailure('the model is unreachable', { cause: error });
      }
    },
  };
}

function read(text: string): ModelAnswer {
  const parsed = Completion.safeParse(tryParseUntrustedJson(text));
  const choice = parsed.data?.choices[0];
  if (!choice) throw new ModelFailure('the response is not a chat completion');
  const counted = parsed.data?.usage;
  const usage = counted
    ? { promptTokens: counted.prompt_tokens, completionTokens: counted.completion_tokens }
    : null;
  const { message, finish_reason: finish } = choice;
  if (message.refusal || finish === 'content_filter')
    throw new ModelFailure('the model refused to answer', { usage });
  if (finish === 'length') throw new ModelFailure('the output was truncated', { usage });
  return { text: message.content ?? '', usage };
}

function refusalOf(status: number, text: string): { code: string | null; reason: string } {
  const code = Failed.safeParse(tryParseUntrustedJson(text)).data?.error.code ?? null;
  const what = status === 429 ? "the model's rate limit is reached" : `the model responded ${status}`;
  return { code, reason: code === null ? what : `${what} (${code})` };
}
