import { expect, test } from 'vitest';
import { pauseAfterFailure, pauseBetweenReads } from './inbox-health.ts';

test('an inbox is read twice as often while replies are expected', () => {
  expect(pauseBetweenReads(60_000, false)).toBe(60_000);
  expect(pauseBetweenReads(60_000, true)).toBe(30_000);
});

test.each([
  [60_000, 0, 15_000],
  [10_000, 0, 10_000],
  [60_000, 15_000, 60_000],
  [60_000, 600_000, 150_000],
  [60_000, 86_400_000, 300_000],
])(
  'read every %i ms, an inbox that has failed for %i ms is read again after %i ms',
  (pollMs, failingMs, pause) => {
    expect(pauseAfterFailure(pollMs, failingMs)).toBe(pause);
  },
);
