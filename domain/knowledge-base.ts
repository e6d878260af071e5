import { z } from 'zod';

export const MAX_DEBOUNCE_SECONDS = 600;

export const KnowledgeDocument = z
  .object({ title: z.string().trim().min(1).max(200), text: z.string().max(100_000) })
  .meta({ id: 'KnowledgeDocument' });
export type KnowledgeDocument = z.infer<typeof KnowledgeDocument>;

/** What the copilot drafts from. */
export const KnowledgeBase = z
  .object({
    mode: z.enum(['off', 'copilot']),
    instructions: z
      .string()
      .max(20_000)
      .default('')
      .meta({ description: 'How to answer: tone, aims, what never to say.' }),
    documents: z.array(KnowledgeDocument).max(100).default([]),
    debounceSeconds: z
      .int()
      .min(0)
      .max(MAX_DEBOUNCE_SECONDS)
      .default(20)
      .meta({ description: 'How long the contact must have stopped writing before a draft is made.' }),
  })
  .meta({ id: 'KnowledgeBase' });
export type KnowledgeBase = z.infer<typeof KnowledgeBase>;

export const DEFAULT_KNOWLEDGE_BASE: KnowledgeBase = KnowledgeBase.parse({ mode: 'off' });
