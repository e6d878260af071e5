import { expect, test } from 'vitest';
import { objectOf, parseJson, textIn } from './json.ts';

test.each(['', '{', 'null', '[]', '5', '"text"', '{"a":1}{', '['.repeat(200_000), ' '.repeat(10_000_001)])(
  'takes nothing for an object that is none: %.20s',
  (text) => expect(objectOf(parseJson(text))).toBeNull(),
);

test('reads only texts of its own', () => {
  const object = objectOf(
    parseJson('{"url":"https://a.example","key":{},"empty":"","__proto__":{"token":"x"}}'),
  );
  expect(['url', 'key', 'empty', 'token', 'toString'].map((name) => textIn(object, name))).toEqual([
    'https://a.example',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
