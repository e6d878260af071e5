import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { addSomeChanges, busyWorkspaces } from '#db/commands/analytics/count-days.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';

const EVERY_MS = 2000;
/** Readers add fewer changes than this in a few milliseconds, so these are left to housekeeping's next round. */
const FEW_CHANGES = 500;

/**
 * Adds the changes of busy workspaces to their daily and hourly metrics until it is canceled, so that readers have few to add:
 * while 570 messages are sent each second, an answer over 4 million takes 0.2 s, with what a minute leaves 1.3 s or more. It pauses
 * half of the time, so that a backlog does not slow down sends.
 */
export async function countChanges(
  pools: Pools,
  logger: Pick<Logger, 'warn'>,
  canceled: AbortSignal,
): Promise<void> {
  const wait = (ms: number): Promise<void> =>
    pause(ms, undefined, { signal: canceled }).catch(() => undefined);

  async function count(): Promise<void> {
    const waiting = new Set(await busyWorkspaces(systemDb(pools), FEW_CHANGES));
    // In turns, so that the largest workspace does not delay the others.
    while (waiting.size > 0)
      for (const workspaceId of waiting) {
        if (canceled.aborted) return;
        const started = performance.now();
        if (!(await hasMore(workspaceId))) waiting.delete(workspaceId);
        await wait(performance.now() - started);
      }
  }

  /** A workspace that cannot be counted does not delay the others. */
  const hasMore = (workspaceId: string): Promise<boolean> =>
    withTenant(pools, workspaceId, addSomeChanges).catch((error: unknown) => {
      logger.warn({ workspaceId, error }, 'the changes of a busy workspace cannot be counted');
      return false;
    });

  while (!canceled.aborted) {
    await count().catch((error: unknown) => {
      logger.warn({ error }, 'no changes of metrics can be counted; trying again');
    });
    await wait(EVERY_MS);
  }
}
