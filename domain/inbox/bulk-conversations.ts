import { z } from 'zod';
import { eitherOf, MAX_BULK } from '../base/bulk.ts';
import {
  ConversationFilters,
  ConversationPatch,
  ONE_ASSIGNEE,
  snoozeHasTime,
  Tags,
  lowerCaseTags,
  uniqueTags,
} from './conversation.ts';

/** What is changed in many conversations. */
export const ConversationsChange = z
  .object({
    ...ConversationPatch.shape,
    addTags: Tags.optional(),
    removeTags: Tags.optional().meta({ description: 'Without regard to case.' }),
    read: z
      .literal(true)
      .optional()
      .meta({ description: 'Marks them as read by the signed-in user; a key has no user.' }),
  })
  .superRefine(snoozeHasTime)
  .refine(...ONE_ASSIGNEE)
  .refine(
    (change) => Object.values(change).some((value) => value !== undefined),
    'at least one change is required',
  )
  .meta({ id: 'ConversationsChange' });
export type ConversationsChange = z.infer<typeof ConversationsChange>;

export const ConversationsBulk = z
  .object({
    addresses: z.array(z.string().max(320)).min(1).max(MAX_BULK).optional().meta({
      description: 'Phone numbers and email addresses. Either `addresses` or `filter` is required.',
    }),
    filter: ConversationFilters.optional().meta({
      description: 'The filters of `GET /api/conversations`; `{}` is all.',
    }),
    change: ConversationsChange,
    dryRun: z
      .boolean()
      .default(false)
      .meta({ description: 'Only says what would be changed and what left out.' }),
  })
  .superRefine(eitherOf('addresses', 'filter'))
  .meta({ id: 'ConversationsBulk' });

/** What a bulk change may set in a conversation. Times are in ISO 8601, as they are stored for an undo. */
export interface BulkState {
  status?: 'open' | 'snoozed' | 'closed';
  snoozedUntil?: string | null;
  assigneeId?: string | null;
  tags?: string[];
  /** When its user read it; null: never. */
  readAt?: string | null;
}

/** The tags that were not there before, in any case. */
export function newTags(before: readonly string[], after: readonly string[]): string[] {
  const known = new Set(lowerCaseTags(before));
  return after.filter((tag) => !known.has(tag.toLowerCase()));
}

/** The tags after others were added and removed, without regard to case. */
export function changedTags(
  tags: readonly string[],
  { addTags = [], removeTags = [] }: Pick<ConversationsChange, 'addTags' | 'removeTags'>,
): string[] {
  const removed = new Set(lowerCaseTags(removeTags));
  const present = new Set(lowerCaseTags(tags));
  return uniqueTags([...tags, ...addTags.filter((tag) => !present.has(tag.toLowerCase()))]).filter(
    (tag) => !removed.has(tag.toLowerCase()),
  );
}
