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
