import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance } from './edit-distance.ts';

test.each([
  ['', '', 0],
  ['', 'abc', 3],
  ['firstName', 'fristName', 1],
  ['company', 'compnay', 1],
  ['kitten', 'sitting', 3],
])('from %j to %j', (a, b, distance) => expect(editDistance(a, b)).toBe(distance));

test('is 0 for equal texts only, symmetric, and at most the longer length', () => {
  const text = fc.string({ maxLength: 12 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      const distance = editDistance(a, b);
      expect(distance === 0).toBe(a === b);
      expect(distance).toBe(editDistance(b, a));
      expect(distance).toBeLessThanOrEqual(Math.max(Array.from(a).length, Array.from(b).length));
    }),
  );
});
