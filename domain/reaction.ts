import { z } from 'zod';
import { Reaction } from './carrier-event.ts';

/** What a contact made of a message, as it is kept on that message. */
export const StoredReaction = z.object({
  reaction: Reaction,
  /** The contact's address. */
  from: z.string(),
  /** ISO 8601. */
  at: z.string(),
  removed: z.boolean(),
});
export type StoredReaction = z.infer<typeof StoredReaction>;

/** As responses show it: those taken back are left out. */
export const ShownReaction = StoredReaction.omit({ removed: true });
export type ShownReaction = z.infer<typeof ShownReaction>;

export const shownReactions = (stored: readonly StoredReaction[]): ShownReaction[] =>
  stored.filter(({ removed }) => !removed).map(({ reaction, from, at }) => ({ reaction, from, at }));

/**
 * Takes in a reaction, or the taking back of one. The latest by the carrier's clock wins, so that any order of
 * arrival ends in the same state.
 * @returns null when a later word on it is known already: nothing changes.
 */
export function withReaction(
  known: readonly StoredReaction[],
  next: StoredReaction,
): StoredReaction[] | null {
  const same = (one: StoredReaction): boolean => one.from === next.from && one.reaction === next.reaction;
  const before = known.find(same);
  if (before && before.at >= next.at) return null;
  return [...known.filter((one) => !same(one)), next].toSorted((a, b) => (a.at < b.at ? -1 : 1));
}
