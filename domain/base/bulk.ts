import { z } from 'zod';
import { Id } from './ids.ts';

/** How many leads or conversations one request changes. */
export const MAX_BULK = 1000;
/** For how long a bulk change can be undone. */
export const UNDO_MS = 60_000;

const SKIP_REASONS = [
  'not_found',
  'unchanged',
  'only_list',
  'list_deleted',
  'duplicate',
  'too_many_fields',
  'too_many_tags',
  'changed_since',
  'not_done',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** An item that a bulk change changed: what is needed to undo it, and to see that nobody has changed it since. */
export interface Changed<State> {
  item: string;
  before: State;
  after: State;
}

/** An item that a bulk change left out, by its id or address. */
export interface Skipped {
  item: string;
  reason: SkipReason;
}

export const BulkResult = z
  .object({
    success: z.literal(true),
    dryRun: z.boolean(),
    matched: z.int().meta({ description: 'How many were looked at: `changed` and `skipped` together.' }),
    changed: z.int(),
    skipped: z
      .array(
        z.object({
          item: z.string().meta({ description: 'The id of the lead, or the address of the conversation.' }),
          reason: z.enum(SKIP_REASONS).meta({
            description:
              '`not_found`: it does not exist or no longer matches the filter. `unchanged`: it is that way already. `only_list`: the lead is in no other list. `list_deleted`: the list no longer exists. `duplicate`: another lead of the list has its addresses. `too_many_fields`: its custom fields would exceed their limits; `too_many_tags`: likewise. `changed_since`: somebody has changed it since, so the undo leaves it. `not_done`: a part of the request failed before it; send it again.',
          }),
        }),
      )
      .meta({ description: 'What was left out, and why.' }),
    hasMore: z.boolean().meta({
      description: `Whether more than ${MAX_BULK} match the filter. The first in the order of the list were changed.`,
    }),
    undo: z
      .object({ id: Id, until: z.iso.datetime() })
      .nullable()
      .meta({ description: 'How the change can be undone; null: nothing was changed, or it cannot.' }),
  })
  .meta({ id: 'BulkResult' });
export type BulkResult = z.infer<typeof BulkResult>;

/** Exactly one of the two fields is given. */
export const eitherOf =
  <T extends object>(one: keyof T & string, other: keyof T & string) =>
  (input: T, context: z.RefinementCtx): void => {
    if ((input[one] === undefined) !== (input[other] === undefined)) return;
    context.addIssue({ code: 'custom', path: [one], message: `either ${one} or ${other} is required` });
  };
