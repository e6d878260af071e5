import type { z } from 'zod';
import { emitEvents } from '#db/commands/events/events.ts';
import type { ModelUse } from '#db/commands/drafts/ai-drafts.ts';
import { addTokens, modelBudget } from '#db/queries/drafts/ai-usage.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { EXHAUSTED, isExhausted, type ModelBudget } from '#domain/drafts/ai-budget.ts';
import { currentTime } from '#domain/base/clock.ts';
import type { DraftPrompt } from '#domain/drafts/draft-prompt.ts';
import { parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { type Model, ModelFailure, type TokenUse } from '#providers/models/model.ts';
import type { Dependencies } from '../dependencies.ts';

/** The token usage of a model call, and its output or the reason for its failure. */
export interface Asked<T> {
  use: ModelUse;
  answer: T | { error: string };
}

export type ModelNeeds = Pick<Dependencies, 'pools' | 'model' | 'testModel' | 'onModelTokens'>;

/**
 * Calls the model within the workspace's budget of the day. Its failure is a result, not an error.
 * @throws only when the worker stops, or the database does not respond.
 */
export async function askModel<T extends object>(
  { pools, model, testModel, onModelTokens }: ModelNeeds,
  workspaceId: string,
  { prompt, schema, canceled }: { prompt: DraftPrompt; schema: z.ZodType<T>; canceled: AbortSignal },
): Promise<Asked<T>> {
  const budget = await withTenant(pools, workspaceId, (db) => modelBudget(db, currentTime()));
  if (isExhausted(budget)) return { use: useOf('none', null), answer: { error: EXHAUSTED } };
  const { tokens, ...asked } = await ask(budget.isTest ? testModel : model, prompt, schema, canceled);
  if (!budget.isTest) onModelTokens(tokens);
  if (tokens > 0)
    await withTenant(pools, workspaceId, (db) => countTokens(db, budget, tokens, currentTime()));
  return asked;
}

/** Of concurrent calls, the one that reaches the budget tells. */
export async function countTokens(
  db: TenantDb,
  { perDay }: ModelBudget,
  tokens: number,
  now: Date,
): Promise<void> {
  const used = await addTokens(db, tokens, now);
  if (isExhausted({ perDay, used: used - tokens }) || !isExhausted({ perDay, used })) return;
  const event = {
    event: 'ai.budget_exhausted' as const,
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    tokensPerDay: perDay,
    tokensUsed: used,
  };
  await emitEvents(db, [event], now);
}

async function ask<T extends object>(
  model: Model | null,
  prompt: DraftPrompt,
  schema: z.ZodType<T>,
  canceled: AbortSignal,
): Promise<Asked<T> & { tokens: number }> {
  if (!model) {
    const error = 'no language model is configured (LLM_BASE_URL)';
    return { use: useOf('none', null), answer: { error }, tokens: 0 };
  }
  try {
    const { text, usage } = await model.answer(prompt, canceled);
    const tokens = usage ? totalOf(usage) : estimated(prompt.instructions, prompt.data, text);
    return { use: useOf(model.name, usage), answer: read(schema, text), tokens };
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    const tokens = error.usage ? totalOf(error.usage) : 0;
    return { use: useOf(model.name, error.usage), answer: { error: error.message }, tokens };
  }
}

const totalOf = ({ promptTokens, completionTokens }: TokenUse): number => promptTokens + completionTokens;

const BYTES_PER_TOKEN = 4;

/** Some endpoints do not say how many tokens they have used: without a count, the budget would have no end. */
const estimated = (...texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / BYTES_PER_TOKEN);

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
