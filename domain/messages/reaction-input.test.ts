import { expect, test } from 'vitest';
import { ReactionInput } from './message.ts';

test('the characters of an emoji that is too long are not read', () => {
  const { error } = ReactionInput.safeParse({ reaction: 'emoji', emoji: '🔥'.repeat(65) });
  expect(error?.issues.map(({ code }) => code)).toEqual(['too_big']);
});
