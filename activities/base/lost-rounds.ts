import { ApplicationFailure } from '@temporalio/common';
import pLimit from 'p-limit';
import { systemDb } from '#db/connection/transactions.ts';
import { pacersAtWork } from '#db/wakes/wakes.ts';
import { endActivitiesOf } from '#providers/lost-activities.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

const AT_ONCE = 20;
/** By then, the heartbeats of what is left are missed. */
const FOR_MS = 60_000;

export function createLostRoundActivities({ pools, temporal, logger }: Dependencies) {
  return {
    /**
     * Ends the rounds of lines that a worker process had when it died, so that others go on at once: the heartbeats of these rounds are rare,
     * because each is billed. Attempts that it left open are reconciled, as after each crash. Should the process still be there, its rounds
     * end with their next heartbeat; until then each plans under the lock of its line, like the one that follows it.
     * @param input.process as in the identity of its workers.
     * @returns the number of rounds that were ended.
     */
    endLostRounds: ({ process }: { process: string }): Promise<number> =>
      withHeartbeat(async () => {
        const end = performance.now() + FOR_MS;
        const limit = pLimit(AT_ONCE);
        const reason = new ApplicationFailure(
          `the process ${process} does not answer any more`,
          'WorkerLost',
        );
        const endOf = async (workflowId: string): Promise<number> => {
          if (performance.now() >= end) return 0;
          try {
            return await endActivitiesOf(temporal, workflowId, process, reason);
          } catch (error) {
            logger.warn({ error, workflowId }, 'the round of a lost process waits for its heartbeat timeout');
            return 0;
          }
        };
        const workflowIds = await pacersAtWork(systemDb(pools));
        const ended = await Promise.all(workflowIds.map((workflowId) => limit(endOf, workflowId)));
        return ended.reduce((sum, count) => sum + count, 0);
      }),
  };
}
