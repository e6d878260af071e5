/**
 * The circuit breaker of a line: when to call a failing carrier again. Line health stops a line whose probes fail;
 * the breaker covers the minutes until then, and carriers that answer probes but accept no messages.
 */

/** How the calls of a round ended. The messages of a round are sent concurrently. */
export interface CallRound {
  /** The carrier accepted or rejected none of its messages. */
  failed: boolean;
  /** Its answer is about the line: other messages would fare no better. */
  ofLine: boolean;
  /** It has not ended. */
  running: boolean;
  /** The carrier accepted a message of it, and returned it later because of the line. */
  isReturned: boolean;
  endedAt: Date;
}

/** How the latest calls for a line ended. */
export interface CallHistory {
  /** Consecutive rounds in which the carrier accepted or rejected no message. */
  failedRounds: number;
  /** Those among them since the first whose answer was about the line. */
  ofLineRounds: number;
  /** Whether any of them has ended. */
  failing: boolean;
  /** When the last of them ended. */
  lastFailedAt: Date | null;
}

/** How long after its acceptance a message may still be returned, on a line whose carrier has returned one. */
export const MAY_BE_RETURNED_MS = 2 * 60_000;

/** @param calls latest first. */
export function callHistoryOf(calls: readonly CallRound[], now: Date): CallHistory {
  const isYoung = ({ failed, endedAt }: CallRound): boolean =>
    !failed && now.getTime() - endedAt.getTime() < MAY_BE_RETURNED_MS;
  const before = calls.find((call) => !isYoung(call));
  const rounds = before?.isReturned
    ? calls.map((call) => (isYoung(call) ? { ...call, failed: true, running: true } : call))
    : calls;
  const answered = rounds.findIndex(({ failed }) => !failed);
  const failed = answered === -1 ? rounds : rounds.slice(0, answered);
  return {
    failedRounds: failed.length,
    ofLineRounds: failed.findLastIndex(({ ofLine }) => ofLine) + 1,
    failing: failed.some(({ running }) => !running),
    lastFailedAt: failed[0]?.endedAt ?? null,
  };
}

export type Circuit =
  /** `failing`: the last call failed. */
  | { state: 'closed'; failing?: true }
  /** Nothing is sent before `until`. `trials` have failed since it opened. */
  | { state: 'open'; until: Date; trials: number }
  /** Half-open: one message is sent, and its outcome decides. */
  | { state: 'trial'; trials: number };

export const FAILED_ROUNDS_TO_OPEN = 5;
const FIRST_PAUSE_MS = 15_000;
export const LONGEST_PAUSE_MS = 5 * 60_000;
/** After as many refused recipients in a row, the carrier refuses the line rather than each of them. */
export const REFUSALS_TO_OPEN = 5;

export function circuitAt(history: CallHistory, now: Date): Circuit {
  const { lastFailedAt, failing } = history;
  const trials = Math.max(history.failedRounds - FAILED_ROUNDS_TO_OPEN, history.ofLineRounds - 1);
  if (trials < 0 || lastFailedAt === null) return { state: 'closed', ...(failing && { failing }) };
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** trials);
  const until = new Date(lastFailedAt.getTime() + pause);
  return until > now ? { state: 'open', until, trials } : { state: 'trial', trials };
}
