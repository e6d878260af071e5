import { expect, test } from 'vitest';
import { MAX_MENTIONS, mentionsIn, NoteInput, withNames } from './conversation-note.ts';

test('a text mentions users by their ids, each once', () => {
  expect(mentionsIn('@[user_1] and @[user_2], again @[user_1], not @user_3, @[] or @[a b]')).toEqual([
    'user_1',
    'user_2',
  ]);
});

test('mentions are shown by name where the name is known', () => {
  const nameOf = (id: string) => (id === 'user_1' ? 'Ruth Ames' : undefined);
  expect(withNames('@[user_1], ask @[user_2]', nameOf)).toBe('@Ruth Ames, ask @[user_2]');
});

test('a note is neither blank nor mentions a crowd', () => {
  const text = (count: number) => Array.from({ length: count }, (_, index) => `@[u${index}]`).join(' ');
  expect(NoteInput.safeParse({ text: text(MAX_MENTIONS) }).success).toBe(true);
  expect(NoteInput.safeParse({ text: text(MAX_MENTIONS + 1) }).success).toBe(false);
  expect(NoteInput.safeParse({ text: ' \n' }).success).toBe(false);
});
