import { setTimeout as pause } from 'node:timers/promises';
import { currentTime } from '#domain/clock.ts';
import {
  runDueHousekeeping,
  readTestClock,
  stepTestClock,
  stopTestClock,
} from '#db/commands/test-mode/clock.ts';
import { decide } from '#db/decisions.ts';
import { withTenant } from '#db/transactions.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { testClockId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isDue, roundOf } from './round.ts';
import { createSendActivities } from './send.ts';

/** How often to check whether the workflows are idle. */
const POLL_MS = 10;
/**
 * How long after a step what is still due is woken, then twice as long, and so on: time has gone on by itself to when a
 * workflow was to look, and that has a timer for a later time. One that is at work does not mind.
 */
const WAKE_AFTER_MS = 250;
/** Longer than a line takes to send all messages that a workspace in test mode holds, if it has no gaps. */
const STUCK_MS = 10 * 60_000;
const ROUND_MS = 120_000;

export function createTestClockActivities(dependencies: Dependencies) {
  const { pools, secrets } = dependencies;
  const { sendDue } = createSendActivities(dependencies);

  /** Runs the rounds of pacers without their workflows: a sequence has many, and each signal costs several round trips. */
  async function send(workspaceId: string, lineId: string): Promise<void> {
    let nextAt: string | null;
    do ({ nextAt } = await sendDue({ workspaceId, lineId }));
    while (nextAt !== null && Date.parse(nextAt) <= currentTime().getTime());
  }

  return {
    /** Moves the clock of a workspace in test mode from one due time to the next, and waits for the work of each. */
    async moveTestClock({ workspaceId }: { workspaceId: string }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        let wakeAfterMs = WAKE_AFTER_MS;
        while (!canceled.aborted && Date.now() < end) {
          const step = await withTenant(pools, workspaceId, (db) => stepTestClock(db, wakeAfterMs));
          if (step.kind !== 'busy') wakeAfterMs = WAKE_AFTER_MS;
          else if (step.sinceMs >= wakeAfterMs) wakeAfterMs = step.sinceMs * 2;
          if (step.kind === 'arrived') {
            const look = await decide(pools, workspaceId, testClockId(workspaceId), async (db) =>
              (await readTestClock(db)).targetAt === null
                ? { nextAt: null, reason: 'the clock is not moving', ended: true }
                : { nextAt: currentTime(), reason: 'the clock is moving' },
            );
            if (!isDue(look)) return roundOf(look);
          } else if (step.kind === 'moved') {
            if (step.isAtTarget)
              await withTenant(pools, workspaceId, (db) =>
                runDueHousekeeping(db, mailSeal(secrets, workspaceId)),
              );
            await Promise.all(step.lineIds.map((lineId) => send(workspaceId, lineId)));
          } else if (step.sinceMs < STUCK_MS) await pause(POLL_MS);
          else await withTenant(pools, workspaceId, (db) => stopTestClock(db, stuck(step.workflowIds)));
        }
        return { nextAt: currentTime().toISOString(), reason: 'the clock is moving' };
      });
    },
  };
}

const stuck = (workflowIds: readonly string[]): string =>
  `Not done in time: ${workflowIds.slice(0, 3).join(', ')}`;
