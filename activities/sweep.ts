import { overdueAgencyOutboxes } from '#db/commands/outbox/mails.ts';
import { abandonLine, strandedQueues } from '#db/commands/lines/line-rehoming.ts';
import { systemDb, withTenant } from '#db/transactions.ts';
import { claimOverdue, knownWakes } from '#db/wakes.ts';
import { agencyMailSenderId, lineHandoverId } from '#workflows/messages/wake.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Workflows woken in one go. */
const BATCH = 5000;
/** Longer than a healthy workflow takes to look at work that is due. */
const GRACE_SECONDS = 30;

export function createSweepActivities({ pools, waker, logger, onSweep }: Dependencies) {
  return {
    /** Wakes every workflow whose time has passed without its having looked. */
    wakeOverdue: (): Promise<number> =>
      withHeartbeat(async () => {
        const db = systemDb(pools);
        const overdue = await claimOverdue(db, BATCH);
        for (const { workflowId, workspaceId } of overdue) waker.wake(workflowId, workspaceId, 'overdue');
        for (const agencyId of await overdueAgencyOutboxes(db, GRACE_SECONDS))
          waker.wake(agencyMailSenderId(agencyId), agencyId, 'overdue');
        onSweep(overdue.length);
        if (overdue.length > 0)
          logger.info(
            { workflows: overdue.length, signals: Object.fromEntries(countBy(overdue)) },
            'woke workflows that nobody had told',
          );
        return overdue.length;
      }),

    /** Gives the messages of lines that are gone, and that nobody hands over, to other lines. @returns the number of lines that are gone. */
    rehomeStranded: (): Promise<number> =>
      withHeartbeat(async () => {
        const queues = await strandedQueues(systemDb(pools));
        for (const { workspaceId, lineId } of queues) {
          const isFound = await withTenant(pools, workspaceId, async (db) => {
            if ((await knownWakes(db, [lineHandoverId(lineId, workspaceId)])).length > 0) return false;
            await abandonLine(db, lineId);
            return true;
          });
          if (isFound) logger.error({ workspaceId, lineId }, 'messages waited at a line that is gone');
        }
        return queues.length;
      }),
  };
}

/** How many of each signal they missed; `none`: they were to look by themselves. */
const countBy = (overdue: readonly { signal: string | null }[]): Map<string, number> =>
  new Map(
    [...Map.groupBy(overdue, ({ signal }) => signal ?? 'none')].map(([name, rows]) => [name, rows.length]),
  );
