import { expect, test } from 'vitest';
import { newVerificationCode, verificationCodes } from './verification.ts';

test.each([
  ['My code is 048213', ['048213']],
  ['048 213', ['048213']],
  ['048-213.', ['048213']],
  ['０４８２１３', ['048213']],
  ['Call +15550482131', []],
  ['12345', []],
])('finds the codes of %j', (text, codes) => {
  expect(verificationCodes(text)).toEqual(codes);
});

test('a code has six digits', () => {
  expect(newVerificationCode(() => 42)).toBe('000042');
});
