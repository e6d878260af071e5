/** Fewer than the workflow tasks that a worker runs at once, so that other workflows continue. */
const MAX_AT_ONCE = 30;
/** How long activities serve the lines of a carrier after a round that took too long. */
const AVOIDED_MS = 60_000;

/**
 * Limits the rounds that run within workflow tasks, as local activities. An activity in their place takes 6 events instead of one
 * (docs/cost.md).
 */
export interface InTaskRounds {
  /**
   * @param cut aborted when the round takes too long.
   * @returns null if the round must not run here: too many do, or a recent one of the same task queue took too long.
   */
  run<T>(taskQueue: string, cut: AbortSignal, round: () => Promise<T>): Promise<T | null>;
}

export function createInTaskRounds(): InTaskRounds {
  let running = 0;
  const avoidedUntil = new Map<string, number>();

  return {
    async run(taskQueue, cut, round) {
      if (running >= MAX_AT_ONCE || Date.now() < (avoidedUntil.get(taskQueue) ?? 0)) return null;
      running += 1;
      const avoid = (): void => void avoidedUntil.set(taskQueue, Date.now() + AVOIDED_MS);
      cut.addEventListener('abort', avoid, { once: true });
      try {
        return await round();
      } finally {
        cut.removeEventListener('abort', avoid);
        running -= 1;
      }
    },
  };
}
