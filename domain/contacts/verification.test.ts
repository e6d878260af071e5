import { expect, it } from 'vitest';
import { newVerificationCode, verificationCodes } from './verification.ts';

it.each([
  ['My code is 048213', ['048213']],
  ['048 213', ['048213']],
  ['048-213.', ['048213']],
  ['０４８２１３', ['048213']],
  ['Call +15550482131', []],
  ['12345', []],
])('finds the codes of %j', (text, codes) => {
  expect(verificationCodes(text)).toEqual(codes);
});

it('a code has six digits', () => {
  expect(newVerificationCode(() => 42)).toBe('000042');
});
