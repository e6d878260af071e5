import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { ModelVerdict, VerdictReason } from './opt-out-verdict.ts';

export const SuspicionStatus = z.enum(['open', 'confirmed', 'dismissed']);
export type SuspicionStatus = z.infer<typeof SuspicionStatus>;

/** How sure the rules are that a reply asks to be left alone. */
export const Certainty = z.enum(['clear', 'doubtful']);
export type Certainty = z.infer<typeof Certainty>;

/** The question to the model about a doubtful reply, and its result. */
export const ModelOpinion = z
  .object({
    status: z.enum(['awaited', 'answered', 'failed']),
    model: z.string().nullable(),
    verdict: ModelVerdict.nullable().meta({
      description:
        '`not_opt_out` dismisses the suspicion, if the confidence is at least 0.7. Otherwise a person decides.',
    }),
    confidence: z.number().nullable().meta({ description: 'From 0 to 1.' }),
    reason: VerdictReason.nullable(),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why there is no answer. In that case, a person decides.' }),
    answeredAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'OptOutModelOpinion' });
export type ModelOpinion = z.infer<typeof ModelOpinion>;

/** A reply that asks, or may ask, to be left alone in other words than the keywords, and what was decided about it. */
export const OptOutSuspicion = z
  .object({
    _id: Id,
    address: z.string(),
    leadId: Id.nullable(),
    replyId: Id,
    message: z.string().meta({ description: 'The text of the reply.' }),
    status: SuspicionStatus.meta({
      description: '`open`: the steps of campaigns to the contact wait until it is decided.',
    }),
    certainty: Certainty.meta({
      description:
        '`doubtful`: the rules could not tell, so the model of the copilot was asked. Only in workspaces whose copilot is on.',
    }),
    modelOpinion: ModelOpinion.nullable().meta({ description: 'null: the model was not asked.' }),
    createdAt: z.iso.datetime(),
    decidedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'OptOutSuspicion' });
export type OptOutSuspicion = z.infer<typeof OptOutSuspicion>;
