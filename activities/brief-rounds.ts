import { Busy, createFairQueue } from '#domain/fair-queue.ts';

/** Fewer than the workflow tasks that a worker runs at once, so that other workflows continue. */
const MAX_ADMITTED = 30;
/** With more at once, all of them would take too long on a busy worker. A quarter is for carriers without a running round. */
const MAX_AT_ONCE = 16;
const MAX_WAIT_MS = 1000;
/** How long activities serve the lines of a carrier after a round that took too long. */
const AVOIDED_MS = 60_000;

/** Limits the rounds that run within workflow tasks, as local activities. */
export interface BriefRounds {
  /**
   * @param cut aborted when the round takes too long.
   * @returns null if the round must not run here: too many do, or a recent one of the same task queue took too long.
   */
  run<T>(taskQueue: string, cut: AbortSignal, round: () => Promise<T>): Promise<T | null>;
}

export function createBriefRounds(): BriefRounds {
  const places = createFairQueue({
    size: MAX_AT_ONCE,
    share: MAX_AT_ONCE,
    maxWaiting: MAX_ADMITTED,
    timeoutMs: MAX_WAIT_MS,
  });
  let admitted = 0;
  const avoidedUntil = new Map<string, number>();

  return {
    async run(taskQueue, cut, round) {
      if (admitted >= MAX_ADMITTED || Date.now() < (avoidedUntil.get(taskQueue) ?? 0)) return null;
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
