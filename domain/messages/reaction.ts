import { z } from 'zod';
import { Reaction } from '../lines/carrier-event.ts';

/** A reaction as it is stored with its message. */
export const StoredReaction = z.object({
  by: z.enum(['us', 'contact']).default('contact'),
  part: z.int().min(1).optional().meta({
    description: 'The part of the message, of those with several: a text and its files. Absent: the first.',
  }),
  reaction: Reaction.meta({ description: 'One of the six tapbacks, `emoji`, or `sticker`.' }),
  emoji: z.string().optional().meta({ description: 'The emoji, if `reaction` is `emoji`.' }),
  /** The address of who reacted. */
  from: z.string(),
  /** ISO 8601. */
  at: z.string(),
  status: z
    .enum(['pending', 'sent', 'failed'])
    .default('sent')
    .meta({ description: 'Of ours: whether the carrier has taken it.' }),
  removed: z.boolean(),
});
export type StoredReaction = z.infer<typeof StoredReaction>;

/** A reaction as the API returns it; removed ones are omitted. */
export const ShownReaction = StoredReaction.omit({ removed: true });
export type ShownReaction = z.infer<typeof ShownReaction>;

export const shownReactions = (stored: readonly StoredReaction[]): ShownReaction[] =>
  stored
    .filter(({ removed }) => !removed)
    .map(({ by, part, reaction, emoji, from, at, status }) => ({
      by,
      ...(part !== undefined && { part }),
      reaction,
      ...(emoji !== undefined && { emoji }),
      from,
      at,
      status,
    }));

const isSame = (a: StoredReaction, b: StoredReaction): boolean =>
  a.by === b.by && a.from === b.from && a.part === b.part && a.reaction === b.reaction && a.emoji === b.emoji;

const inOrder = (reactions: StoredReaction[]): StoredReaction[] =>
  reactions.toSorted((a, b) => (a.at < b.at ? -1 : 1));

/** More reactions of contacts to one message are forgotten, the oldest first: anybody can send any number of emoji. */
const MAX_OF_CONTACTS = 200;

/** Whether a phone shows only one of these reactions to a part of a message. Emails have any number of emoji, and stickers are put beside each other. */
const isReplaced = (a: StoredReaction, b: StoredReaction, isEmail: boolean): boolean =>
  !isEmail &&
  a.by === b.by &&
  a.from === b.from &&
  a.part === b.part &&
  !isSame(a, b) &&
  ![a.reaction, b.reaction].includes('sticker');

/**
 * Applies a reaction of a contact or its removal. The latest by the carrier's clock wins, whatever the order of arrival. Phones do not
 * tell that a new reaction replaces the one before.
 * @param isEmail whether it is about an email.
 * @returns null if a later event was applied before: nothing changes.
 */
export function withReaction(
  known: readonly StoredReaction[],
  next: StoredReaction,
  isEmail: boolean,
): StoredReaction[] | null {
  const before = known.find((other) => isSame(other, next));
  if (before && before.at >= next.at) return null;
  const others = known.filter((other) => !isSame(other, next));
  const isPast = others.some(
    (other) => !other.removed && other.at > next.at && isReplaced(other, next, isEmail),
  );
  const kept = others.map((other) =>
    !next.removed && other.at <= next.at && isReplaced(other, next, isEmail)
      ? { ...other, at: next.at, removed: true }
      : other,
  );
  const all = inOrder([...kept, isPast ? { ...next, removed: true } : next]);
  const excess = all.filter(({ by }) => by === 'contact').length - MAX_OF_CONTACTS;
  const forgotten = new Set(all.filter(({ by }) => by === 'contact').slice(0, Math.max(0, excess)));
  return all.filter((one) => !forgotten.has(one));
}

type OwnReaction = Pick<StoredReaction, 'reaction' | 'emoji' | 'from' | 'at'>;

const isOurs = (one: StoredReaction, own: OwnReaction): boolean =>
  one.by === 'us' && one.reaction === own.reaction && one.emoji === own.emoji;

/** Whether one of ours can be removed. */
export const hasOwn = (known: readonly StoredReaction[], own: OwnReaction): boolean =>
  known.some((one) => isOurs(one, own) && one.status === 'sent' && !one.removed);

/** Our reaction, asked for or with the result. A new one that was sent replaces the others of ours, as on a phone. */
export function withOwnReaction(
  known: readonly StoredReaction[],
  own: OwnReaction,
  status: StoredReaction['status'],
): StoredReaction[] {
  const others = known.filter((one) => (status === 'sent' ? one.by !== 'us' : !isOurs(one, own)));
  return inOrder([...others, { ...own, by: 'us', status, removed: false }]);
}

export const withoutOwnReaction = (known: readonly StoredReaction[], own: OwnReaction): StoredReaction[] =>
  known.filter((one) => !isOurs(one, own));
