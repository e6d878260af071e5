const ends = new WeakMap<AbortSignal, number>();

/**
 * Like `AbortSignal.timeout`, for requests that must not leave the process too late. A process that was suspended first reads what has
 * arrived, such as the end of a handshake, and runs its timers after that: `isOver` asks the clock as well.
 * @param signal aborts as well.
 */
export function timeLimit(ms: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  const limit = signal ? AbortSignal.any([signal, timeout]) : timeout;
  ends.set(limit, Math.min(performance.now() + ms, (signal && ends.get(signal)) ?? Infinity));
  return limit;
}

/** Whether a signal is aborted, or is a `timeLimit` that is past. */
export const isOver = (signal: AbortSignal): boolean =>
  signal.aborted || performance.now() >= (ends.get(signal) ?? Infinity);

/** Why a request whose `timeLimit` is past is not sent, if the signal is not aborted yet. */
export class TooLate extends DOMException {
  constructor() {
    super('too late', 'TimeoutError');
  }
}
