/**
 * The circuit breaker of a line: when to call a failing carrier again. Line health stops a line whose probes fail;
 * the breaker covers the minutes until then, and carriers that answer probes but accept no messages.
 */

/** How the latest calls for a line ended, counted in rounds because the messages of a round are sent concurrently. */
export interface CallHistory {
  /** Consecutive rounds in which the carrier accepted or rejected no message. */
  failedRounds: number;
  /** When the last of them ended. */
  lastFailedAt: Date | null;
}

export type Circuit =
  | { state: 'closed' }
  /** Nothing is sent before `until`. */
  | { state: 'open'; until: Date }
  /** Half-open: one message is sent, and its outcome decides. */
  | { state: 'trial' };

export const FAILED_ROUNDS_TO_OPEN = 5;
const FIRST_PAUSE_MS = 15_000;
export const LONGEST_PAUSE_MS = 5 * 60_000;

export function circuitAt({ failedRounds, lastFailedAt }: CallHistory, now: Date): Circuit {
  if (failedRounds < FAILED_ROUNDS_TO_OPEN || lastFailedAt === null) return { state: 'closed' };
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failedRounds - FAILED_ROUNDS_TO_OPEN));
  const until = new Date(lastFailedAt.getTime() + pause);
  return until > now ? { state: 'open', until } : { state: 'trial' };
}
