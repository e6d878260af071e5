import { setTimeout as pause } from 'node:timers/promises';
import { overdueAgencyOutboxes } from '#db/commands/events/mails.ts';
import { removeLineFromWorkspace, strandedQueues } from '#db/commands/lines/line-reassignment.ts';
import { recordRun } from '#db/queries/sending/recorded-runs.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { claimOverdue, knownWakes, lateAmong } from '#db/wakes/wakes.ts';
import { MANY_OVERDUE } from '#workflows/protocol/round.ts';
import { agencyMailSenderId, lineHandoverId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { restartFailing } from './restarts.ts';
import { endDueSnoozes } from '../inbox/snoozes.ts';

/** The number of workflows that are claimed at once. */
const BATCH = 5000;
/** With more signals that wait for Temporal, the next batch waits. */
const MAX_WAITING_SIGNALS = 2 * BATCH;
/** A sweep ends after this time. The next follows at once if it has not found all. */
const SWEEP_MS = 15_000;
const LOOK_MS = 200;

export function createSweepActivities(dependencies: Dependencies) {
  const { pools, waker, logger, onSweep } = dependencies;
  const untilSent = async (end: number): Promise<void> => {
    while (waker.waiting > MAX_WAITING_SIGNALS && Date.now() < end) await pause(LOOK_MS);
  };
  return {
    /** Wakes overdue workflows, starts those anew whose tasks fail, and then ends snoozes that are over. @returns the number of workflows that it woke, not counting those of agencies. */
    wakeOverdue: (): Promise<number> =>
      withHeartbeat(async () => {
        const db = systemDb(pools);
        const end = Date.now() + SWEEP_MS;
        const overdue: Awaited<ReturnType<typeof claimOverdue>> = [];
        const wake = ({ workflowId, workspaceId }: { workflowId: string; workspaceId: string }): void =>
          waker.wake(workflowId, workspaceId, 'overdue');
        let restarted = 0;
        for (let isFull = true; isFull && Date.now() < end;) {
          const batch = await claimOverdue(db, BATCH);
          const late = overdue.length === 0 ? await lateAmong(db, batch) : [];
          const lateIds = new Set(late.map(({ workflowId }) => workflowId));
          for (const workflow of batch) if (!lateIds.has(workflow.workflowId)) wake(workflow);
          restarted += await restartFailing(dependencies, late, wake);
          overdue.push(...batch);
          isFull = batch.length >= MANY_OVERDUE;
          if (isFull) await untilSent(end);
        }
        for (const agencyId of await overdueAgencyOutboxes(db))
          waker.wake(agencyMailSenderId(agencyId), agencyId, 'overdue');
        await recordRun(db, 'sweep');
        await endDueSnoozes(dependencies);
        onSweep({ woken: overdue.length, restarted });
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
            await removeLineFromWorkspace(db, lineId);
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
