import { z } from 'zod';
import { optOutSuspicion } from '../contacts/doubtful-opt-out.ts';
import { isOpen, OpeningHours } from '../inbox/opening-hours.ts';
import { DraftTag, type HandOver, HandOverReason, type Sentiment } from './ai-draft.ts';
import { handedOverByWords } from './hand-over-words.ts';
import { instructsModel } from './model-instructions.ts';
import { plainText } from './plain-text.ts';

/** What the autopilot may do. What is outside becomes a draft for a person. */
export const Autopilot = z
  .object({
    minConfidence: z.number().min(0).max(1).default(0.85),
    maxPerDay: z.int().min(1).max(500).default(50).meta({
      description: "In the workspace's time zone.",
    }),
    maxPerConversation: z.int().min(1).max(50).default(6).meta({
      description: 'Until the conversation is closed.',
    }),
    hours: OpeningHours.shape.hours.optional().meta({
      description: "When it may answer, in the workspace's time zone. Default: always.",
    }),
    tags: z.array(DraftTag).max(20).default([]).meta({
      description:
        'It answers only what the model gives no other tags. Empty: all but what `handOver` names.',
    }),
    handOver: z
      .array(HandOverReason)
      .max(20)
      .default([...HandOverReason.options])
      .meta({
        description: 'What a person answers.',
      }),
  })
  .meta({ id: 'Autopilot' });
export type Autopilot = z.output<typeof Autopilot>;

/** The source of its messages, and who resolved its drafts. */
export const AUTOPILOT = 'autopilot';

/** What the autopilot knows of a draft. */
export interface Judged {
  draft: {
    draft: string;
    confidence: number;
    tags: readonly DraftTag[];
    sentiment: Sentiment;
    handOver: readonly HandOver[];
  };
  /** What the contact wrote since the last answer. */
  texts: readonly string[];
  sentToday: number;
  sentInConversation: number;
  /** A person has answered since the conversation was last closed. */
  isTakenOver: boolean;
  timezone: string;
}

/** Why a person has to decide, in the order of what they should know first. */
export const HeldBackBy = z
  .enum([
    'taken_over',
    ...HandOverReason.options,
    'instructs_model',
    'confidence',
    'tags',
    'hours',
    'conversation_limit',
    'day_limit',
    'cannot_send',
  ])
  .meta({
    id: 'HeldBackBy',
    description:
      'Why the autopilot left the draft to a person: `taken_over`, because a person answered; a reason of `handOver`; `instructs_model`, because the contact seems to write to the model; a limit of `autopilot`; or `cannot_send`, because the workspace may not send, no line can, or the contact has withdrawn their consent.',
  });
export type HeldBackBy = z.infer<typeof HeldBackBy>;

/** @returns null if the autopilot may send the draft. */
export function heldBackBy(settings: Autopilot, judged: Judged, now: Date): HeldBackBy | null {
  if (judged.isTakenOver) return 'taken_over';
  const reasons = reasonsOf(judged);
  const handedOver = HandOverReason.options.find(
    (reason) => reasons.has(reason) && settings.handOver.includes(reason),
  );
  if (handedOver) return handedOver;
  if (judged.texts.some(instructsModel)) return 'instructs_model';
  const { confidence, tags } = judged.draft;
  if (confidence < settings.minConfidence) return 'confidence';
  if (settings.tags.length > 0 && !tags.every((tag) => settings.tags.includes(tag))) return 'tags';
  if (settings.hours && !isOpen({ hours: settings.hours, closedOn: [] }, judged.timezone, now))
    return 'hours';
  if (judged.sentInConversation >= settings.maxPerConversation) return 'conversation_limit';
  return judged.sentToday >= settings.maxPerDay ? 'day_limit' : null;
}

/** What the model and the rules find. Neither outvotes the other. */
function reasonsOf({ draft, texts }: Judged): ReadonlySet<HandOver> {
  const reasons = new Set<HandOver>(draft.handOver);
  if (draft.tags.includes('objection') || draft.tags.includes('not_interested')) reasons.add('objection');
  if (draft.tags.includes('wrong_person')) reasons.add('wrong_person');
  if (draft.tags.includes('call_back')) reasons.add('asks_for_person');
  if (draft.sentiment === 'negative') reasons.add('negative');
  for (const reason of handedOverByWords(plainText(texts.join('\n')))) reasons.add(reason);
  // Whatever the contact wrote to get it: nobody is told a price or promised a right without a person.
  for (const reason of handedOverByWords(plainText(draft.draft)))
    if (reason === 'price' || reason === 'legal') reasons.add(reason);
  if (texts.some((text) => optOutSuspicion(text) !== 'none')) reasons.add('opt_out_doubt');
  return reasons;
}
