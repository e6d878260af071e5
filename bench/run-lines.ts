import type { LineDriver } from './line-driver.ts';

export interface RunOptions {
  /** No round happens at or after this instant. */
  until: Date;
  /** More rounds than this are a livelock. */
  maxRounds?: number;
  /** When a round due at `at` really happens: earlier or later than planned, as crashes and restarts have it. */
  happensAt?: (at: Date, now: Date) => Date;
}

/**
 * Runs lines that share their contacts on one clock, always the line whose turn is first, until nothing waits.
 * Returns the number of rounds.
 * @throws Error after `maxRounds`.
 */
export function runLines(
  drivers: readonly LineDriver[],
  { until, maxRounds = Infinity, happensAt = (at) => at }: RunOptions,
): number {
  const wakes = drivers.map((driver) => driver.firstDue()?.getTime() ?? Infinity);
  let now = new Date(Math.min(...wakes));
  for (let rounds = 0; ; rounds++) {
    const first = Math.min(...wakes);
    if (first >= until.getTime()) return rounds;
    if (rounds === maxRounds)
      throw new Error(`still busy after ${maxRounds} rounds, at ${now.toISOString()}`);
    const index = wakes.indexOf(first);
    const planned = new Date(Math.max(first, now.getTime()));
    now = new Date(Math.max(happensAt(planned, now).getTime(), now.getTime()));
    wakes[index] = drivers[index]?.round(now)?.getTime() ?? Infinity;
  }
}
