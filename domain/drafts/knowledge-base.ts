import { z } from 'zod';
import { oneLine } from '../base/text.ts';
import { Autopilot } from './autopilot.ts';

const MAX_DEBOUNCE_SECONDS = 600;

export const KnowledgeDocument = z
  .object({ title: z.string().trim().min(1).max(200).overwrite(oneLine), text: z.string().max(100_000) })
  .meta({ id: 'KnowledgeDocument' });
export type KnowledgeDocument = z.infer<typeof KnowledgeDocument>;

/** The copilot's instructions and documents. */
export const KnowledgeBase = z
  .object({
    mode: z.enum(['off', 'copilot', 'autopilot']).meta({
      description:
        '`copilot`: a person decides about each draft. `autopilot`: what is within `autopilot` is sent without; the rest waits for a person, with `heldBackBy`.',
    }),
    instructions: z
      .string()
      .max(20_000)
      .default('')
      .meta({ description: 'How to write drafts: tone, goals, things never to say.' }),
    documents: z.array(KnowledgeDocument).max(100).default([]),
    debounceSeconds: z
      .int()
      .min(0)
      .max(MAX_DEBOUNCE_SECONDS)
      .default(20)
      .meta({ description: "The pause after the contact's last message before a draft is written." }),
    autopilot: Autopilot.prefault({}),
    disclosure: z.string().trim().max(500).default('').meta({
      description:
        'Sent once to each contact, before the first text of the autopilot, for example that it is one.',
    }),
  })
  .meta({ id: 'KnowledgeBase' });
export type KnowledgeBase = z.infer<typeof KnowledgeBase>;

export const DEFAULT_KNOWLEDGE_BASE: KnowledgeBase = KnowledgeBase.parse({ mode: 'off' });
