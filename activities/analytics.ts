import { countSome, uncountedWorkspaces } from '#db/commands/analytics/count-days.ts';
import { systemDb, withTenant } from '#db/transactions.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

/** The maximum duration of a run. The next run continues. */
const BUDGET_MS = 10_000;

export function createAnalyticsActivities({ pools }: Pick<Dependencies, 'pools'>) {
  return {
    /** Brings the metrics by the day up to date. @returns the number of workspaces that had changes. */
    countDays: (): Promise<number> =>
      withHeartbeat(async (canceled) => {
        const end = Date.now() + BUDGET_MS;
        const mayContinue = (): boolean => !canceled.aborted && Date.now() < end;
        const waiting = new Set(await uncountedWorkspaces(systemDb(pools)));
        const { size } = waiting;
        // In turns, so that a large workspace that is counted for the first time does not hold up the others.
        while (waiting.size > 0 && mayContinue())
          for (const workspaceId of waiting) {
            if (!mayContinue()) break;
            if (!(await withTenant(pools, workspaceId, countSome))) waiting.delete(workspaceId);
          }
        return size;
      }),
  };
}
