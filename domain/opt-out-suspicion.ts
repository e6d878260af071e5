import { z } from 'zod';
import { Id } from './ids.ts';

export const SuspicionStatus = z.enum(['open', 'confirmed', 'dismissed']);
export type SuspicionStatus = z.infer<typeof SuspicionStatus>;

/** A reply that asks to be left alone in other words than the keywords, and what was decided about it. */
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
    createdAt: z.iso.datetime(),
    decidedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'OptOutSuspicion' });
export type OptOutSuspicion = z.infer<typeof OptOutSuspicion>;
