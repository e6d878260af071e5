import { expect, test } from 'vitest';
import { serializeInTurns } from './parse.ts';

const many = (item: unknown) => Array.from({ length: 30 }, () => item);

test.each<[string, object]>([
  ['a long list alone', { leads: many({ name: 'Ada' }) }],
  ['fields before and after it', { success: true, leads: many('é'), nextCursor: null }],
  ['several', { a: many(1), b: many([]), c: 'x' }],
  ['undefined fields and elements', { a: undefined, b: many(undefined), c: undefined }],
  [
    'long texts, whose pieces are encoded apart',
    { a: many('\u{1F642}'.repeat(40_000)), b: 'é'.repeat(90_000) },
  ],
])('serializes %s as JSON.stringify does', async (_, value) => {
  expect((await serializeInTurns(value))?.toString() === JSON.stringify(value)).toBe(true);
});

test('leaves what has no long list to the caller', async () => {
  expect(await serializeInTurns({ leads: [1, 2] })).toBeUndefined();
});
