import { keepPartitions, trimAged } from '#db/queries/retention.ts';
import { systemDb } from '#db/transactions.ts';
import type { Dependencies } from './dependencies.ts';
import { deleteEndedUploads } from './ended-uploads.ts';
import { withHeartbeat } from './heartbeat.ts';

/** What is not done by then is the next run's. */
const BUDGET_MS = 4 * 60_000;

export function createRetentionActivities(dependencies: Dependencies) {
  const db = systemDb(dependencies.pools);
  return {
    /**
     * Deletes what is past its time: events, deliveries and carrier events by the day, the rest by the row.
     * @returns the number of rows and uploads deleted.
     */
    async trim(): Promise<number> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + BUDGET_MS;
        const goesOn = () => !canceled.aborted && Date.now() < end;
        // A table that somebody reads for long, as a backup does, is tried again by the next run.
        const [partitions] = await Promise.allSettled([keepPartitions(db)]);
        const trimmed = (await trimAged(db, goesOn)) + (await deleteEndedUploads(dependencies, goesOn));
        if (partitions.status === 'rejected') throw partitions.reason;
        return trimmed;
      });
    },
  };
}
