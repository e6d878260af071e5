import { sealRecords } from '#db/commands/contacts/seal-records.ts';
import { publishAllEvents } from '#db/commands/events/publish-events.ts';
import { keepPartitions, trimAged } from '#db/queries/operations/retention.ts';
import { trimTestMode } from '#db/queries/test-mode/test-retention.ts';
import { noteWorkspaceSizes } from '#db/queries/accounts/workspace-sizes.ts';
import { systemDb } from '#db/connection/transactions.ts';
import type { Dependencies } from '../dependencies.ts';
import { deleteExpiredUploads } from '../messages/expired-uploads.ts';
import { withHeartbeat } from './heartbeat.ts';

/** The maximum duration of a run. The next run continues. */
const BUDGET_MS = 4 * 60_000;

export function createRetentionActivities(dependencies: Dependencies) {
  const db = systemDb(dependencies.pools);
  return {
    /**
     * Deletes expired data: partitions of events, deliveries and carrier events, and rows of other tables. Records how large
     * the workspaces are now, publishes events for which no stream has asked, and seals what was recorded since.
     * @returns the number of deleted rows and uploads.
     */
    async trim(): Promise<number> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + BUDGET_MS;
        const mayContinue = () => !canceled.aborted && Date.now() < end;
        // A partition may be locked by a long read, such as a backup. The next run tries again.
        const first = await Promise.allSettled([
          // In this order, because a partition that is dropped takes events with it that are not published.
          publishAllEvents(dependencies.pools, mayContinue).finally(() =>
            keepPartitions(db, dependencies.retention),
          ),
          noteWorkspaceSizes(db),
          sealRecords(dependencies.pools, mayContinue, (workspaceId, error) => {
            dependencies.logger.warn(
              { workspaceId, error },
              'records cannot be sealed; the next run tries again',
            );
          }),
        ]);
        const trimmed =
          (await trimAged(db, dependencies.retention, mayContinue)) +
          (await trimTestMode(db, mayContinue)) +
          (await deleteExpiredUploads(dependencies, mayContinue));
        for (const step of first) if (step.status === 'rejected') throw step.reason;
        return trimmed;
      });
    },
  };
}
