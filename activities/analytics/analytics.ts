import { countSome, uncountedWorkspaces } from '#db/commands/analytics/count-days.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';

/** The maximum duration of a run. The next run continues. */
const BUDGET_MS = 10_000;

export function createAnalyticsActivities({ pools, logger }: Pick<Dependencies, 'pools' | 'logger'>) {
  /** A workspace that cannot be counted does not delay the others: the next run tries again. */
  async function hasMore(workspaceId: string): Promise<boolean> {
    try {
      return await withTenant(pools, workspaceId, countSome);
    } catch (error) {
      logger.error({ workspaceId, error }, 'the daily metrics of a workspace could not be counted');
      return false;
    }
  }

  return {
    /** Brings the daily metrics up to date. @returns the number of workspaces that had changes. */
    countDays: (): Promise<number> =>
      withHeartbeat(async (canceled) => {
        const end = Date.now() + BUDGET_MS;
        const mayContinue = (): boolean => !canceled.aborted && Date.now() < end;
        const waiting = new Set(await uncountedWorkspaces(systemDb(pools)));
        const { size } = waiting;
        // In turns, so that a large workspace that is counted for the first time does not delay the others.
        while (waiting.size > 0 && mayContinue())
          for (const workspaceId of waiting) {
            if (!mayContinue()) break;
            if (!(await hasMore(workspaceId))) waiting.delete(workspaceId);
          }
        return size;
      }),
  };
}
