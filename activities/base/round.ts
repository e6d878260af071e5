import { currentTime } from '#domain/base/clock.ts';
import { type Decision, decide, type Look } from '#db/wakes/decisions.ts';
import type { Pools } from '#db/connection/pools.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { withHeartbeat } from './heartbeat.ts';

/** There is more to do: the next round is due now. */
export const dueNow = (reason: string): Look => ({ nextAt: currentTime(), reason });

/** The decision as the workflow gets it. */
export const roundOf = ({ nextAt, reason, ended = false }: Look): Round => ({
  nextAt: nextAt?.toISOString() ?? null,
  reason,
  ...(ended && { ended }),
  ...(nextAt === null && !ended && { keepsOpen: true }),
});

/** Lets the workflow end, unless somebody has woken it. */
export const decideToEnd = async (
  pools: Pools,
  workspaceId: string,
  workflowId: string,
  reason: string,
): Promise<Round> =>
  roundOf(await decide(pools, workspaceId, workflowId, async () => ({ nextAt: null, reason, ended: true })));

/** Whether something is due now, so that the round continues. */
export const isDue = ({ nextAt }: Decision): boolean =>
  nextAt !== null && nextAt.getTime() <= currentTime().getTime();

/**
 * What a round decides that has kept up with what comes until its time was over: nothing, so that the next is due at once. A process takes
 * it behind the rounds of other workspaces.
 */
export const LEFT_DUE: Look = {
  nextAt: null,
  reason: 'all that came is done; a worker process takes what comes',
};

/** A workflow whose next rounds processes take ends when it has nothing more to do now. */
export const leftToProcesses = (look: Look): Round =>
  isDue(look) ? roundOf(look) : { ...roundOf(look), nextAt: null, ended: true };

/**
 * Repeats a step until it decides that the workflow is idle. After `ms` the next round continues.
 * @param more what is left when the time is up.
 * @param step returns its decision; null: it has not looked whether more is due, and is repeated at once.
 */
export const repeatFor = (
  ms: number,
  more: string,
  step: (canceled: AbortSignal) => Promise<Look | null>,
): Promise<Round> =>
  withHeartbeat(async (canceled) =>
    roundOf(await repeatUntil(Date.now() + ms, canceled, more, () => step(canceled))),
  );

/** Like `repeatFor`, without heartbeats. @param end in milliseconds since the epoch. */
export async function repeatUntil(
  end: number,
  canceled: AbortSignal,
  more: string,
  step: () => Promise<Look | null>,
): Promise<Look> {
  while (!canceled.aborted && Date.now() < end) {
    const look = await step();
    if (look && !isDue(look)) return look;
  }
  return dueNow(more);
}
