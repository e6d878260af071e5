import { expect, test } from 'vitest';
import { z } from 'zod';
import { firstOf, listOf, textUpTo } from './bounded-schema.ts';

const Item = z.object({ name: z.string() });
const wrong = Array.from({ length: 100_000 }, () => 0);

test('A list that is too long is refused without a look at its elements', () => {
  expect(listOf(Item, 2).safeParse(wrong).error?.issues).toHaveLength(1);
  expect(listOf(Item, 2).safeParse([{ name: 'a' }, { name: 'b' }]).data).toHaveLength(2);
  expect(listOf(Item, 2).safeParse([{ name: 'a' }, 0]).success).toBe(false);
});

test('Only the first elements of a list are read', () => {
  expect(firstOf(Item, 2).safeParse([{ name: 'a' }, { name: 'b' }, ...wrong]).data).toEqual([
    { name: 'a' },
    { name: 'b' },
  ]);
  expect(firstOf(Item, 2).safeParse(wrong).error?.issues).toHaveLength(2);
});

test('Texts are cut', () => {
  expect(textUpTo(3).parse('abcdef')).toBe('abc');
});
