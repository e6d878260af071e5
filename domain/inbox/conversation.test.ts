import { expect, test } from 'vitest';
import { TagsInput } from './conversation.ts';

test('tags that look the same are one', () => {
  const tags = ['größe', 'Größe'].flatMap((tag) => [tag.normalize('NFC'), tag.normalize('NFD')]);
  expect(TagsInput.parse({ tags })).toEqual({ tags: ['Größe'.normalize('NFC')] });
});
