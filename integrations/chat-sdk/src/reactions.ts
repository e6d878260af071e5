import { defaultEmojiResolver, type EmojiValue } from 'chat';

type Reaction = 'love' | 'like' | 'dislike' | 'laugh' | 'emphasize' | 'question' | 'emoji';

/** The six tapbacks. */
const TAPBACKS: Readonly<Record<string, Reaction>> = {
  '❤️': 'love',
  '👍': 'like',
  '👎': 'dislike',
  '😂': 'laugh',
  '‼️': 'emphasize',
  '❓': 'question',
};
const EMOJI = Object.fromEntries(Object.entries(TAPBACKS).map(([emoji, reaction]) => [reaction, emoji]));

/** The body of a request for a reaction. */
export function reactionOf(emoji: EmojiValue | string): { reaction: Reaction; emoji?: string } {
  const shown = defaultEmojiResolver.toGChat(emoji);
  const tapback = TAPBACKS[shown] ?? TAPBACKS[`${shown}\u{FE0F}`];
  return tapback === undefined ? { reaction: 'emoji', emoji: shown } : { reaction: tapback };
}

/** The emoji that an event shows; a sticker has none. */
export const emojiOf = ({ reaction, emoji }: { reaction: string; emoji?: string }): string | undefined =>
  emoji ?? EMOJI[reaction];
