import type { z } from 'zod';
import type { HealthStatus } from './line.ts';

/** Consecutive failed probes after which a line is `down`. */
export const PROBES_TO_DOWN = 3;

export interface ProbedLine {
  status: z.infer<typeof HealthStatus>;
  failedProbes: number;
}

/** The line's health after a probe. */
export function afterProbe(
  before: ProbedLine,
  succeeded: boolean,
): ProbedLine & { wentDown: boolean; recovered: boolean } {
  const failedProbes = succeeded ? 0 : before.failedProbes + 1;
  const status = succeeded ? 'healthy' : failedProbes >= PROBES_TO_DOWN ? 'down' : 'degraded';
  return {
    status,
    failedProbes,
    wentDown: status === 'down' && before.status !== 'down',
    recovered: succeeded && before.status === 'down',
  };
}

/** Seconds between two probes of a line. */
export interface ProbePeriods {
  healthy: number;
  /** For an unhealthy line: it is `down` after three failed probes, which must not take long. */
  unhealthy: number;
}

/** A carrier's lines, and the seconds since the oldest probes of healthy and unhealthy lines; null: there are none. */
export interface ProbeAges {
  lines: number;
  healthy: number | null;
  unhealthy: number | null;
}

/** How many healthy lines of a carrier are probed in a minute. With more lines, each is probed less often. */
export const PROBES_A_MINUTE = 5000;
const LONGEST_MINUTES = 5;
/** Probes take place once a minute. The time that they take must not delay the next to the minute after. */
const EARLIER_SECONDS = 5;

/** @param lines the number of the carrier's lines. */
export function probePeriods(lines: number): ProbePeriods {
  const minutes = Math.min(LONGEST_MINUTES, Math.max(1, Math.ceil(lines / PROBES_A_MINUTE)));
  return { healthy: minutes * 60 - EARLIER_SECONDS, unhealthy: 60 - EARLIER_SECONDS };
}

/** Whether any line of the carrier is due for a probe. */
export function areProbesDue({ lines, healthy, unhealthy }: ProbeAges): boolean {
  const periods = probePeriods(lines);
  return (healthy ?? 0) > periods.healthy || (unhealthy ?? 0) > periods.unhealthy;
}
