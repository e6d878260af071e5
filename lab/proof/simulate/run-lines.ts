import type { LineDriver } from './line-driver.ts';

export interface RunOptions {
  /** No round happens before this instant. Default: when the first message is due. */
  from?: Date;
  /** No round happens at or after this instant. */
  until: Date;
  /** More rounds than this count as a livelock. */
  maxRounds?: number;
  /** When a round due at `at` actually happens, earlier or later than planned, as after crashes and restarts. */
  happensAt?: (at: Date, now: Date) => Date;
}

/**
 * Runs lines that share contacts on one clock, always the line that is due first, until nothing waits.
 * @returns the number of rounds.
 * @throws Error after `maxRounds`.
 */
export function runLines(
  drivers: readonly LineDriver[],
  { from = new Date(0), until, maxRounds = Infinity, happensAt = (at) => at }: RunOptions,
): number {
  const wakes = drivers.map((driver) => Math.max(from.getTime(), driver.firstDue()?.getTime() ?? Infinity));
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
