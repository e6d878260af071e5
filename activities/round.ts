import { currentTime } from '#domain/clock.ts';
import type { Decision } from '#db/decisions.ts';
import type { Round } from '#workflows/messages/round.ts';
import { withHeartbeat } from './heartbeat.ts';

/** A decision about the next round, with what the workflow waits for. */
export interface Look extends Decision {
  reason: string;
}

/** The decision as the workflow gets it. */
export const roundOf = ({ nextAt, reason, ended, keepsOpen }: Look): Round => ({
  nextAt: nextAt?.toISOString() ?? null,
  reason,
  ...(ended && { ended }),
  ...(keepsOpen && { keepsOpen }),
});

/** Whether something is due now, so that the round continues. */
export const isDue = ({ nextAt }: Decision): boolean =>
  nextAt !== null && nextAt.getTime() <= currentTime().getTime();

/**
 * Repeats a step until it decides to rest. After `ms` the next round continues.
 * @param more what is left when the time is up.
 * @param step returns its decision; null: it has not looked whether it may rest, and is repeated at once.
 */
export const repeatFor = (
  ms: number,
  more: string,
  step: (canceled: AbortSignal) => Promise<Look | null>,
): Promise<Round> =>
  withHeartbeat(async (canceled) => {
    const end = Date.now() + ms;
    while (!canceled.aborted && Date.now() < end) {
      const look = await step(canceled);
      if (look && !isDue(look)) return roundOf(look);
    }
    return roundOf({ nextAt: currentTime(), reason: more });
  });
