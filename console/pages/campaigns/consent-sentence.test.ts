import { expect, test } from 'vitest';
import { type Coverage, isLow, sentenceOf } from './consent-sentence.ts';

const coverage = (granted: number, unknown: number): Coverage => ({
  success: true,
  channel: 'sms',
  total: granted + unknown + 5,
  unreachable: 5,
  optedOut: 0,
  suppressed: 0,
  granted,
  revoked: 0,
  unknown,
});

test('says how many leads consented, and what becomes of the others', () => {
  expect(sentenceOf(coverage(10, 0), false)).toBe('10 of 10 leads have consented to SMS.');
  expect(sentenceOf(coverage(9, 1), true)).toBe(
    '9 of 10 leads have consented to SMS; the other one will be skipped.',
  );
  expect(sentenceOf(coverage(3, 1200), false)).toBe(
    '3 of 1,203 leads have consented to SMS; the other 1,200 get messages, too, unless you require consent.',
  );
});

test('warns if fewer than four fifths have', () => {
  expect([isLow(coverage(7, 3)), isLow(coverage(8, 2)), isLow(coverage(0, 0))]).toEqual([true, false, false]);
});
