import { Busy, createFairQueue } from '#domain/fair-queue.ts';

/** Fewer than the workflow tasks that a worker runs at once, so that other workflows go on. */
const MOST_ADMITTED = 30;
/** With more at once, all of them would take too long on a busy worker. A quarter is for carriers without a running round. */
const MOST_AT_ONCE = 16;
const MAX_WAIT_MS = 1000;
/** How long the lines of a carrier are served by activities after a round that took too long. */
const AVOIDED_MS = 60_000;

/** Rounds that take place within workflow tasks, instead of activities of their own. */
export interface BriefRounds {
  /**
   * @param cut aborted when the round takes too long.
   * @returns null if the round must not take place here: too many do, or one of the same task queue took too long.
   */
  run<T>(taskQueue: string, cut: AbortSignal, round: () => Promise<T>): Promise<T | null>;
}

export function createBriefRounds(): BriefRounds {
  const places = createFairQueue({
    size: MOST_AT_ONCE,
    share: MOST_AT_ONCE,
    maxWaiting: MOST_ADMITTED,
    timeoutMs: MAX_WAIT_MS,
  });
  let admitted = 0;
  const avoidedUntil = new Map<string, number>();

  return {
    async run(taskQueue, cut, round) {
      if (admitted >= MOST_ADMITTED || Date.now() < (avoidedUntil.get(taskQueue) ?? 0)) return null;
      admitted += 1;
      const avoid = (): void => void avoidedUntil.set(taskQueue, Date.now() + AVOIDED_MS);
      cut.addEventListener('abort', avoid, { once: true });
      try {
        return await places.run(taskQueue, round);
      } catch (error) {
        if (error instanceof Busy) return null;
        throw error;
      } finally {
        cut.removeEventListener('abort', avoid);
        admitted -= 1;
      }
    },
  };
}
