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

const HOUR_MS = 3_600_000;

/**
 * Whether a line is due for the question whether its carrier still reports replies to it: with the first probe of an hour, which begins for each
 * line at another minute, and with each probe while it does not. The question can be many requests.
 */
export function isReportingDue(
  line: { id: string; healthCheckedAt: Date | null; inboxFailingSince: Date | null },
  now: Date,
): boolean {
  const { id, healthCheckedAt, inboxFailingSince } = line;
  if (healthCheckedAt === null || inboxFailingSince !== null) return true;
  const offset = Number.parseInt(id.slice(-6), 16) % HOUR_MS;
  const hourOf = (at: Date): number => Math.floor((at.getTime() + offset) / HOUR_MS);
  return hourOf(healthCheckedAt) < hourOf(now);
}

/** Whether any line of the carrier is due for a probe. */
export function areProbesDue({ lines, healthy, unhealthy }: ProbeAges): boolean {
  const periods = probePeriods(lines);
  return (healthy ?? 0) > periods.healthy || (unhealthy ?? 0) > periods.unhealthy;
}
