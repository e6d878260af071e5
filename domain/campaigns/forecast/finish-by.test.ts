import { expect, test } from 'vitest';
import { finishOf } from './finish-by.ts';

const site = { timezone: 'Europe/Berlin', now: new Date('2026-03-10T12:00:00Z') };
const in3Days = new Date('2026-03-12T18:00:00Z');
const linesFor = [
  { days: 5, lines: 1 },
  { days: 3, lines: 2 },
  { days: 2, lines: 4 },
];
const limitedBy = [{ reason: 'daily_new_cap' as const, share: 1 }];

test.each([
  ['2026-03-12T17:00:00Z', limitedBy, true, 2],
  ['2026-03-14T17:00:00Z', limitedBy, false, 2],
  [null, limitedBy, false, 2],
  [null, [], true, 2],
])('a campaign that ends at %s, limited by %j, is in time: %s', (completesAt, limits, isPossible, lines) => {
  const at = completesAt === null ? null : new Date(completesAt);
  expect(finishOf(in3Days, { completesAt: at, limitedBy: limits, linesFor }, site)).toEqual({
    at: in3Days.toISOString(),
    isPossible,
    lines,
  });
});

test('no number of lines makes a deadline that is over', () => {
  const over = new Date('2026-03-10T11:00:00Z');
  expect(finishOf(over, { completesAt: in3Days, limitedBy, linesFor }, site)).toMatchObject({
    isPossible: false,
    lines: null,
  });
});
