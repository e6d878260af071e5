import { expect, test } from 'vitest';
import { pauseAfterFailure } from './inbox-health.ts';

test.each([
  [60_000, 0, 5000],
  [1000, 0, 1000],
  [60_000, 15_000, 60_000],
  [60_000, 600_000, 150_000],
  [60_000, 86_400_000, 300_000],
])(
  'read every %i ms, an inbox that has failed for %i ms is read again after %i ms',
  (pollMs, failingMs, pause) => {
    expect(pauseAfterFailure(pollMs, failingMs)).toBe(pause);
  },
);
