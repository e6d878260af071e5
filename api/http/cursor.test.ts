import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '#test/support/any-text.ts';
import { encodeCursor, PositionQuery } from './cursor.ts';

const read = (cursor: string) => PositionQuery.safeParse({ cursor });
const forge = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a cursor decodes to the position that it was made from', () => {
  const at = fc.date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(at, fc.stringMatching(/^[0-9a-z@.+]{0,100}$/), (time, key) => {
      expect(read(encodeCursor({ at: time, key })).data?.cursor).toEqual({ at: time, key });
    }),
  );
});

test.each([
  ['a NUL', [1, 'a\0b']],
  ['half a surrogate pair', [1, '\ud800']],
  ['the first instant', [-8.64e15, 'a']],
  ['the last instant', [8.64e15, 'a']],
  ['an invalid time', [1e300, 'a']],
  ['a fraction', [1.5, 'a']],
  ['a text', 'a'],
  ['an object', { 0: 1, 1: 'a', length: 2 }],
  ['a key that is no string', [1, { toString: 'a' }]],
  ['too many values', [1, 'a', 'b']],
])('a cursor that holds %s is refused', (_, value) => {
  expect(read(forge(value)).error?.issues).toMatchObject([{ path: ['cursor'] }]);
});

test('an arbitrary cursor is either decoded or refused by name', () => {
  const forged = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.tuple(fc.maxSafeInteger(), anyText(5)));
  const sent = fc.oneof(anyText(20), forged.map(forge));
  fc.assert(
    fc.property(sent, (cursor) => {
      const { success, error } = read(cursor);
      expect(success || error?.issues.every(({ path }) => path[0] === 'cursor')).toBe(true);
    }),
  );
});
