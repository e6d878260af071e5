import { z } from 'zod';
import { eventHead } from './base.ts';

/** The workspace has used up the day's budget for the language model. */
export const AiBudgetExhausted = eventHead('ai.budget_exhausted').extend({
  tokensPerDay: z.int(),
  tokensUsed: z.int(),
});
