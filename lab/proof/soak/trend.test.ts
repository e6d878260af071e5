import { describe, expect, it } from 'vitest';
import { type Sample, trendOf } from './trend.ts';
import { seeded } from '../simulate/workload.ts';

const MINUTE = 60_000;
const random = seeded(1);

/** Two hours of samples, one every half minute. */
const series = (valueAt: (minutes: number) => number): Sample[] =>
  Array.from({ length: 240 }, (_, index) => ({ at: (index * MINUTE) / 2, value: valueAt(index / 2) }));

describe('a series is flat', () => {
  it.each<[string, (minutes: number) => number]>([
    ['does not change', () => 100],
    ['rises while it warms up, and then stays', (minutes) => Math.min(300, 100 + 10 * minutes)],
    ['is a saw of garbage', (minutes) => 100 + (minutes % 7) * 30],
    ['is noisy', () => 100 + random() * 80],
    ['shrinks', (minutes) => 300 - minutes],
  ])('if it %s', (_, valueAt) => {
    expect(trendOf(series(valueAt), 0).isFlat).toBe(true);
  });
});

describe('a series grows', () => {
  it.each<[string, (minutes: number) => number]>([
    ['leaks a tenth in two hours', (minutes) => 100 + minutes / 12],
    ['leaks below a saw of garbage', (minutes) => 100 + minutes / 6 + (minutes % 7) * 30],
    ['leaks and is noisy', (minutes) => 100 + minutes / 4 + random() * 30],
    ['leaks a little after every quarter of an hour', (minutes) => 100 + Math.floor(minutes / 15) * 3],
  ])('if it %s', (_, valueAt) => {
    expect(trendOf(series(valueAt), 0).isFlat).toBe(false);
  });
});
