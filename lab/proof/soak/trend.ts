/** A value of a series at a time, in milliseconds since the start. */
export interface Sample {
  at: number;
  value: number;
}

export interface Trend {
  /** The lowest value at the beginning and at the end, after the warm-up. */
  from: number;
  to: number;
  /** By how much the series grows in an hour. */
  perHour: number;
  isFlat: boolean;
}

const WARM_UP = 0.25;
const PARTS = 10;
const HOUR = 3_600_000;
/** Growth from the warm-up to the end, as a share of the value, below which there is no trend. */
const TOLERANCE = 0.05;

/**
 * The trend of a series after its first quarter. It is that of the lowest values of ten equal parts, since garbage and
 * dead rows come and go, and the median of the slopes between any two, since outliers do not move it.
 * @param least growth up to this is no trend either.
 */
export function trendOf(samples: readonly Sample[], least: number): Trend {
  const end = samples.at(-1)?.at ?? 0;
  const begin = end * WARM_UP;
  const length = (end - begin) / PARTS;
  const floors = Array.from({ length: PARTS }, (_, part): Sample => {
    const from = begin + part * length;
    const isLast = part === PARTS - 1;
    const inside = samples.filter(({ at }) => at >= from && (isLast || at < from + length));
    return { at: from + length / 2, value: Math.min(...inside.map(({ value }) => value)) };
  }).filter(({ value }) => Number.isFinite(value));
  const slopes = floors.flatMap((a, index) =>
    floors.slice(index + 1).map((b) => (b.value - a.value) / (b.at - a.at)),
  );
  const slope = median(slopes);
  const [from, to] = [floors[0]?.value ?? NaN, floors.at(-1)?.value ?? NaN];
  const growth = slope * (end - begin);
  return { from, to, perHour: slope * HOUR, isFlat: growth <= Math.max(least, Math.abs(from) * TOLERANCE) };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}
