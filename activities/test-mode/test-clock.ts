import { setTimeout as pause } from 'node:timers/promises';
import { currentTime } from '#domain/base/clock.ts';
import {
  runDueHousekeeping,
  readTestClock,
  stepTestClock,
  stopTestClock,
} from '#db/commands/test-mode/clock.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { testClockId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { dueNow, repeatFor } from '../base/round.ts';
import { createSendActivities } from '../sending/send.ts';

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
const MOVING = 'the clock is moving';

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
      let wakeAfterMs = WAKE_AFTER_MS;
      return repeatFor(ROUND_MS, MOVING, async () => {
        const step = await withTenant(pools, workspaceId, (db) => stepTestClock(db, wakeAfterMs));
        if (step.kind !== 'busy') wakeAfterMs = WAKE_AFTER_MS;
        else if (step.sinceMs >= wakeAfterMs) wakeAfterMs = step.sinceMs * 2;
        if (step.kind === 'arrived') return decide(pools, workspaceId, testClockId(workspaceId), lookAtClock);
        if (step.kind === 'moved') {
          if (step.isAtTarget)
            await withTenant(pools, workspaceId, (db) =>
              runDueHousekeeping(db, mailSeal(secrets, workspaceId)),
            );
          await Promise.all(step.lineIds.map((lineId) => send(workspaceId, lineId)));
        } else if (step.sinceMs < STUCK_MS) await pause(POLL_MS);
        else await withTenant(pools, workspaceId, (db) => stopTestClock(db, stuck(step.workflowIds)));
        return null;
      });
    },
  };
}

const lookAtClock = async (db: TenantDb): Promise<Look> =>
  (await readTestClock(db)).targetAt === null
    ? { nextAt: null, reason: 'the clock is not moving', ended: true }
    : dueNow(MOVING);

const stuck = (workflowIds: readonly string[]): string =>
  `Not done in time: ${workflowIds.slice(0, 3).join(', ')}`;
