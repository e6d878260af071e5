import { expect, test } from 'vitest';
import { timeRange } from './plot-range.ts';

const DAY = 86_400;

test('the first and the last bar have room, and lines begin and end at the edges', () => {
  expect(timeRange([10 * DAY, 11 * DAY, 12 * DAY], true)).toEqual([9.5 * DAY, 12.5 * DAY]);
  expect(timeRange([10 * DAY, 15 * DAY, 16 * DAY], true)).toEqual([9.5 * DAY, 16.5 * DAY]);
  expect(timeRange([10 * DAY, 11 * DAY, 12 * DAY], false)).toEqual([10 * DAY, 12 * DAY]);
});

test('a single value has a day around it, and not years', () => {
  for (const bars of [true, false]) expect(timeRange([10 * DAY], bars)).toEqual([9.5 * DAY, 10.5 * DAY]);
});
