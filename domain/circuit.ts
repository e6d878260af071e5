/**
 * When a carrier that does not take messages is called again: pure, the clock is passed in. Line health stops a line whose
 * probe fails; this is for the minutes until then, and for a carrier that answers probes and takes nothing.
 */

/** How the latest calls for a line ended, counted in rounds: the messages of a round are sent side by side. */
export interface CallHistory {
  /** Rounds in a row of which no message got an answer about itself. */
  failedRounds: number;
  /** When the last of them ended. */
  lastFailedAt: Date | null;
}

export type Circuit =
  | { state: 'closed' }
  /** Nothing is sent before then. */
  | { state: 'open'; until: Date }
  /** One message is sent, and how that ends decides. */
  | { state: 'trial' };

export const FAILED_ROUNDS_TO_OPEN = 5;
const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

export function circuitAt({ failedRounds, lastFailedAt }: CallHistory, now: Date): Circuit {
  if (failedRounds < FAILED_ROUNDS_TO_OPEN || lastFailedAt === null) return { state: 'closed' };
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failedRounds - FAILED_ROUNDS_TO_OPEN));
  const until = new Date(lastFailedAt.getTime() + pause);
  return until > now ? { state: 'open', until } : { state: 'trial' };
}
