import { z } from 'zod';
import { Reaction } from '../lines/carrier-event.ts';

/** A reaction as it is stored with its message. */
export const StoredReaction = z.object({
  reaction: Reaction.meta({ description: 'One of the six tapbacks, `emoji`, or `sticker`.' }),
  emoji: z.string().optional().meta({ description: 'The emoji, if `reaction` is `emoji`.' }),
  /** The contact's address. */
  from: z.string(),
  /** ISO 8601. */
  at: z.string(),
  removed: z.boolean(),
});
export type StoredReaction = z.infer<typeof StoredReaction>;

/** A reaction as the API returns it; removed ones are omitted. */
export const ShownReaction = StoredReaction.omit({ removed: true });
export type ShownReaction = z.infer<typeof ShownReaction>;

export const shownReactions = (stored: readonly StoredReaction[]): ShownReaction[] =>
  stored
    .filter(({ removed }) => !removed)
    .map(({ reaction, emoji, from, at }) => ({
      reaction,
      ...(emoji !== undefined && { emoji }),
      from,
      at,
    }));

/**
 * Applies a reaction or its removal. The latest by the carrier's clock wins, whatever the order of arrival.
 * @returns null if a later event was applied before: nothing changes.
 */
export function withReaction(
  known: readonly StoredReaction[],
  next: StoredReaction,
): StoredReaction[] | null {
  const isSame = (other: StoredReaction): boolean =>
    other.from === next.from && other.reaction === next.reaction && other.emoji === next.emoji;
  const before = known.find(isSame);
  if (before && before.at >= next.at) return null;
  return [...known.filter((other) => !isSame(other)), next].toSorted((a, b) => (a.at < b.at ? -1 : 1));
}
