import { z } from 'zod';
import { requiredLine } from '../base/required-line.ts';
import { Id } from '../base/ids.ts';
import { askedByNoCampaign, Conditions, fitTogether } from '../campaigns/condition.ts';

const fields = {
  name: requiredLine(200),
  when: Conditions.superRefine(fitTogether)
    .superRefine(askedByNoCampaign)
    .meta({ description: 'All of them have to hold.' }),
};

/** The body of `POST /api/segments`. */
export const SegmentInput = z.object(fields).meta({ id: 'SegmentInput' });
export type SegmentInput = z.output<typeof SegmentInput>;

/** The body of `PATCH /api/segments/{id}`. */
export const SegmentPatch = z.object(fields).partial().meta({ id: 'SegmentPatch' });
export type SegmentPatch = z.output<typeof SegmentPatch>;

/** The leads for whom some conditions hold, now. */
export const Segment = z
  .object({
    _id: Id,
    name: z.string(),
    when: Conditions,
    count: z.int().meta({ description: 'How many leads are in it at the time of the response.' }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Segment' });
export type Segment = z.infer<typeof Segment>;

/** Whether a campaign gets the leads that are in its segment at the start, or also those that come to be in it. */
export const Audience = z.enum(['snapshot', 'live']);
export type Audience = z.infer<typeof Audience>;
