/** Confidence intervals of observed shares. */

/** Both ends are included; shares are between 0 and 1, differences of two between -1 and 1. */
export interface Interval {
  low: number;
  high: number;
}

/** The quantile of the standard normal distribution: 95 % lie within ± this value. */
const Z_95 = 1.959964;

/**
 * How many standard deviations an interval reaches, so that of `comparisons` intervals all hold with 95 % (Bonferroni);
 * of two variants there is one comparison, of three there are three, of four six.
 */
const Z_OF_COMPARISONS: Record<number, number> = { 1: Z_95, 3: 2.39398, 6: 2.638257 };

/**
 * The Wilson score interval of a share (Wilson, 1927, "Probable inference, the law of succession, and statistical
 * inference"). Unlike the normal approximation it holds for few cases and for shares near 0 and 1.
 * @param count of `total`, which is at least 1.
 */
export function wilson(count: number, total: number, z = Z_95): Interval {
  const share = count / total;
  const z2 = z * z;
  const scale = 1 + z2 / total;
  const center = (share + z2 / (2 * total)) / scale;
  const margin = (z / scale) * Math.sqrt((share * (1 - share)) / total + z2 / (4 * total * total));
  return {
    low: count === 0 ? 0 : Math.max(0, center - margin),
    high: count === total ? 1 : Math.min(1, center + margin),
  };
}

export interface Counted {
  count: number;
  total: number;
}

/**
 * The interval of the difference `first - second` of two shares, from their Wilson intervals: method 10 of Newcombe (1998),
 * "Interval estimation for the difference between independent proportions". The shares differ if it does not contain 0.
 * @param comparisons 1, 3 or 6: how many differences are looked at together.
 */
export function newcombe(
  first: Counted,
  second: Counted,
  comparisons = 1,
): Interval & { difference: number } {
  const z = Z_OF_COMPARISONS[comparisons];
  if (z === undefined) throw new Error(`no interval for ${comparisons} comparisons`);
  const [p1, p2] = [first.count / first.total, second.count / second.total];
  const one = wilson(first.count, first.total, z);
  const two = wilson(second.count, second.total, z);
  return {
    difference: p1 - p2,
    low: p1 - p2 - Math.hypot(p1 - one.low, two.high - p2),
    high: p1 - p2 + Math.hypot(one.high - p1, p2 - two.low),
  };
}
