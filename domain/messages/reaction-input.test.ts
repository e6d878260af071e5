import { expect, it } from 'vitest';
import { ReactionInput } from './message.ts';

it('reads no characters of an emoji that is too long', () => {
  const { error } = ReactionInput.safeParse({ reaction: 'emoji', emoji: '🔥'.repeat(65) });
  expect(error?.issues.map(({ code }) => code)).toEqual(['too_big']);
});
