import { keepEventPartitions, trimAged } from '#db/queries/retention.ts';
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
     * Deletes what is past its time: events by the day, idempotency keys, fingerprints, logs and uploads by the row.
     * @returns the number of rows and uploads deleted.
     */
    async trim(): Promise<number> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + BUDGET_MS;
        const goesOn = () => !canceled.aborted && Date.now() < end;
        await keepEventPartitions(db);
        return (await trimAged(db, goesOn)) + (await deleteEndedUploads(dependencies, goesOn));
      });
    },
  };
}
