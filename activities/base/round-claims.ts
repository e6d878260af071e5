import type { Logger } from 'pino';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { extendClaims, type DueRound, releaseClaim } from '#db/queries/operations/due-rounds.ts';

/** Much less than a claim lasts (db/queries/operations/due-rounds.ts). */
const HOLD_EVERY_MS = 5000;
/** Rounds end earlier. One that hangs is claimed by another process then. */
const MAX_HELD_MS = 5 * 60_000;

/** The rounds that this process has claimed. */
export interface RoundClaims {
  /**
   * Runs the round of a workflow, which takes it over from a process that polls. Meanwhile no process begins another.
   * @param options.isClaimed the claim is in the database already.
   * @param options.pauseMs how long after it no process begins another, by its result; null: after an error.
   */
  during<T>(
    round: DueRound,
    work: () => Promise<T>,
    options?: { isClaimed?: boolean; pauseMs?: (result: T | null) => number },
  ): Promise<T>;
}

export function createRoundClaims(pools: Pools, logger: Pick<Logger, 'warn'>): RoundClaims {
  const db = systemDb(pools);
  const held = new Map<DueRound, number>();
  let timer: NodeJS.Timeout | undefined;

  function hold(): void {
    const since = performance.now() - MAX_HELD_MS;
    const rounds = [...held].flatMap(([round, at]) => (at > since ? [round] : []));
    if (rounds.length === 0) return;
    extendClaims(db, rounds).catch((error: unknown) =>
      logger.warn({ error, rounds: rounds.length }, 'the claims of rounds cannot be extended'),
    );
  }

  return {
    async during(round, work, { isClaimed = false, pauseMs = () => 0 } = {}) {
      if (!isClaimed) await extendClaims(db, [round]);
      held.set(round, performance.now());
      timer ??= setInterval(hold, HOLD_EVERY_MS).unref();
      let result = null;
      try {
        result = await work();
        return result;
      } finally {
        held.delete(round);
        if (held.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
        await releaseClaim(db, round, pauseMs(result)).catch((error: unknown) =>
          logger.warn({ error, ...round }, 'the claim of a round cannot be ended; it expires'),
        );
      }
    },
  };
}
