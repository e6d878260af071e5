import type { z } from 'zod';
import type { ModelUse } from '#db/commands/drafts/ai-drafts.ts';
import type { DraftPrompt } from '#domain/draft-prompt.ts';
import { parseUntrustedJson } from '#domain/untrusted-json.ts';
import { type Model, ModelFailure, type TokenUse } from '#providers/models/model.ts';

/** The token usage of a model call, and its output or the reason for its failure. */
export interface Asked<T> {
  use: ModelUse;
  answer: T | { error: string };
}

/** Calls the model. Its failure is a result, not an error. @throws only when the worker stops. */
export async function askModel<T extends object>(
  model: Model | null,
  prompt: DraftPrompt,
  schema: z.ZodType<T>,
  canceled: AbortSignal,
): Promise<Asked<T>> {
  if (!model)
    return { use: useOf('none', null), answer: { error: 'no language model is configured (LLM_BASE_URL)' } };
  try {
    const { text, usage } = await model.answer(prompt, canceled);
    return { use: useOf(model.name, usage), answer: read(schema, text) };
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    return { use: useOf(model.name, error.usage), answer: { error: error.message } };
  }
}

const useOf = (model: string, usage: TokenUse | null): ModelUse => ({
  model,
  promptTokens: usage?.promptTokens ?? null,
  completionTokens: usage?.completionTokens ?? null,
});

function read<T extends object>(schema: z.ZodType<T>, text: string): T | { error: string } {
  try {
    return schema.parse(parseUntrustedJson(text));
  } catch {
    return { error: 'the output does not match the requested JSON schema' };
  }
}
