import { setTimeout as pause } from 'node:timers/promises';
import { currentTime } from '#domain/clock.ts';
import { readTestClock, stepTestClock, stopTestClock } from '#db/commands/test-mode/clock.ts';
import { decide } from '#db/decisions.ts';
import { withTenant } from '#db/transactions.ts';
import { testClockId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isDue, roundOf } from './round.ts';

/** How often to look whether the workflows rest. */
const POLL_MS = 10;
/** Longer than a delivery to a slow webhook takes, and than the sweep takes to send a lost signal again. */
const STUCK_MS = 90_000;
const ROUND_MS = 120_000;

export function createTestClockActivities({ pools }: Dependencies) {
  return {
    /** Moves the clock of a workspace in test mode from one due time to the next, and waits for the work of each. */
    async moveTestClock({ workspaceId }: { workspaceId: string }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        let movedAt = Date.now();
        while (!canceled.aborted && Date.now() < end) {
          const step = await withTenant(pools, workspaceId, stepTestClock);
          if (step.kind === 'arrived') {
            const look = await decide(pools, workspaceId, testClockId(workspaceId), async (db) =>
              (await readTestClock(db)).targetAt === null
                ? { nextAt: null, reason: 'the clock is not moving', ended: true }
                : { nextAt: currentTime(), reason: 'the clock is to move on' },
            );
            if (!isDue(look)) return roundOf(look);
          } else if (step.kind === 'moved') movedAt = Date.now();
          else if (Date.now() - movedAt < STUCK_MS) await pause(POLL_MS);
          else await withTenant(pools, workspaceId, (db) => stopTestClock(db, stuck(step.workflowIds)));
        }
        return { nextAt: currentTime().toISOString(), reason: 'the clock is to move on' };
      });
    },
  };
}

const stuck = (workflowIds: readonly string[]): string =>
  `Not done in time: ${workflowIds.slice(0, 3).join(', ')}`;
