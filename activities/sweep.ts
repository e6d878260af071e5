import { overdueAgencyOutboxes } from '#db/commands/outbox/mails.ts';
import { abandonLine, strandedQueues } from '#db/commands/lines/line-rehoming.ts';
import { recordRun } from '#db/queries/recorded-runs.ts';
import { systemDb, withTenant } from '#db/transactions.ts';
import { claimOverdue, knownWakes, lateAmong } from '#db/wakes.ts';
import { agencyMailSenderId, lineHandoverId } from '#workflows/messages/workflow-ids.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { restartFailing } from './restarts.ts';
import { endDueSnoozes } from './snoozes.ts';

/** The maximum number of workflows that one sweep wakes. */
const BATCH = 5000;

export function createSweepActivities(dependencies: Dependencies) {
  const { pools, waker, logger, onSweep } = dependencies;
  return {
    /** Wakes overdue workflows, starts those anew whose tasks fail, and then ends snoozes that are over. @returns the number of workflows that it woke, not counting those of agencies. */
    wakeOverdue: (): Promise<number> =>
      withHeartbeat(async () => {
        const db = systemDb(pools);
        const overdue = await claimOverdue(db, BATCH);
        const late = await lateAmong(db, overdue);
        const restarted = await restartFailing(dependencies, late);
        for (const { workflowId, workspaceId } of overdue)
          if (!restarted.has(workflowId)) waker.wake(workflowId, workspaceId, 'overdue');
        for (const agencyId of await overdueAgencyOutboxes(db))
          waker.wake(agencyMailSenderId(agencyId), agencyId, 'overdue');
        await recordRun(db, 'sweep');
        await endDueSnoozes(dependencies);
        onSweep({ woken: overdue.length, restarted: restarted.size });
        if (overdue.length > 0)
          logger.info(
            { workflows: overdue.length, signals: Object.fromEntries(countBy(overdue)) },
            'woke overdue workflows',
          );
        return overdue.length;
      }),

    /** Reassigns messages of removed lines that no workflow hands over. @returns the number of removed lines with messages. */
    rehomeStranded: (): Promise<number> =>
      withHeartbeat(async () => {
        const queues = await strandedQueues(systemDb(pools));
        for (const { workspaceId, lineId } of queues) {
          const isFound = await withTenant(pools, workspaceId, async (db) => {
            if ((await knownWakes(db, [lineHandoverId(lineId, workspaceId)])).length > 0) return false;
            await abandonLine(db, lineId);
            return true;
          });
          if (isFound)
            logger.error({ workspaceId, lineId }, 'messages were queued for a line that no longer exists');
        }
        return queues.length;
      }),
  };
}

/** The number of workflows by the signal that they missed; `none`: their own timer was due. */
const countBy = (overdue: readonly { signal: string | null }[]): Map<string, number> =>
  new Map(
    [...Map.groupBy(overdue, ({ signal }) => signal ?? 'none')].map(([name, rows]) => [name, rows.length]),
  );
