import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newcombe, wilson } from './proportion.ts';

const counted = fc
  .integer({ min: 1, max: 100_000 })
  .chain((total) => fc.record({ count: fc.integer({ min: 0, max: total }), total: fc.constant(total) }));

describe('the Wilson interval of a share', () => {
  // Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('%i of %i: the published values', (count, total, low, high) => {
    const interval = wilson(count, total);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it('contains the share, stays between 0 and 1, and mirrors that of the others', () => {
    fc.assert(
      fc.property(counted, ({ count, total }) => {
        const { low, high } = wilson(count, total);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(count / total);
        expect(high).toBeGreaterThanOrEqual(count / total);
        expect(high).toBeLessThanOrEqual(1);
        const others = wilson(total - count, total);
        expect(others.low).toBeCloseTo(1 - high, 9);
        expect(others.high).toBeCloseTo(1 - low, 9);
      }),
    );
  });
});

describe('the interval of the difference of two shares', () => {
  // Newcombe (1998), "Interval estimation for the difference between independent proportions", table II, method 10.
  it.each([
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
  ])('%i of %i and %i of %i: the published values', (count1, total1, count2, total2, low, high) => {
    const interval = newcombe({ count: count1, total: total1 }, { count: count2, total: total2 });
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it('contains the difference, changes its sign with the order, and is wider with more comparisons', () => {
    fc.assert(
      fc.property(counted, counted, (one, two) => {
        const { difference, low, high } = newcombe(one, two);
        expect(low).toBeLessThanOrEqual(difference);
        expect(high).toBeGreaterThanOrEqual(difference);
        expect(newcombe(two, one).low).toBeCloseTo(-high, 9);
        const careful = newcombe(one, two, 6);
        expect(careful.low).toBeLessThanOrEqual(low);
        expect(careful.high).toBeGreaterThanOrEqual(high);
      }),
    );
  });
});
