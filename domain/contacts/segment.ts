import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { NOT_BLANK, oneLine } from '../base/text.ts';
import { Conditions } from '../campaigns/condition.ts';

/** In the values of all conditions: a list of segments is read, judged and shown as a whole. */
const MAX_CHARACTERS = 10_000;

const charactersOf = (when: z.output<typeof Conditions>): number =>
  when
    .flatMap(({ value }) => value)
    .reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);

const fields = {
  name: z
    .string()
    .trim()
    .max(200)
    .overwrite(oneLine)
    .refine(...NOT_BLANK),
  when: Conditions.refine(
    (when) => charactersOf(when) <= MAX_CHARACTERS,
    `must have at most ${MAX_CHARACTERS} characters in all values`,
  ).meta({ description: 'All of them have to hold.' }),
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
