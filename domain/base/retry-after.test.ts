import { expect, test } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

const now = new Date('2026-03-10T10:00:00Z');
const DAY_MS = 86_400_000;

test.each<[string | null, number | null]>([
  [null, null],
  ['', null],
  [' ', null],
  ['soon', null],
  ['-1', null],
  ['0', 0],
  [' 120 ', 120_000],
  ['0.25', 250],
  ['999999999999999999999', DAY_MS],
  ['Tue, 10 Mar 2026 10:02:00 GMT', 120_000],
  ['Tue, 10 Mar 2026 09:00:00 GMT', 0],
  ['Tue, 10 Mar 2037 09:00:00 GMT', DAY_MS],
])('Retry-After: %s', (header, ms) => {
  expect(retryAfterMs(header, now)).toBe(ms);
});
