import { setTimeout as pause } from 'node:timers/promises';
import { currentTime } from '#domain/base/clock.ts';
import { acceptDrips } from '#db/commands/messages/accept-drips.ts';
import { hasBufferedDrips, takeDrips } from '#db/queries/messages/drip.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { isTestTime } from '#db/connection/workspace-clock.ts';
import { dripDrainerId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import type { Rounds } from '../base/round-poller.ts';
import { dueNow, isDue, LEFT_DUE, leftToProcesses, repeatUntil } from '../base/round.ts';
import { ROWS_PER_TRANSACTION } from '../base/transaction-size.ts';

/** Drips come in bursts: looking for a moment is cheaper than the next round. */
const LINGER_MS = 1000;
/** While drips keep coming, those of this time become messages in one transaction. */
const POLL_MS = 250;
/** A workspace with more work than this starts another round, behind the other workspaces. */
const ROUND_MS = 20_000;
const MORE = 'more is buffered';

/** Turns the buffered drips of a workspace into scheduled messages until none are left, or the time is over. */
async function drain(
  { pools, logger }: Pick<Dependencies, 'pools' | 'logger'>,
  workspaceId: string,
  canceled: AbortSignal,
): Promise<Look> {
  let idleSince = Date.now();
  let isBehind = false;
  const look = await repeatUntil(Date.now() + ROUND_MS, canceled, MORE, async () => {
    const { taken, refused } = await withTenant(
      pools,
      workspaceId,
      async (db) => {
        const drips = await takeDrips(db, ROWS_PER_TRANSACTION);
        return { taken: drips.length, refused: await acceptDrips(db, drips, currentTime()) };
      },
      { genericPlans: true },
    );
    for (const { messageId, reason } of refused)
      logger.error({ workspaceId, messageId, reason }, 'a drip became a failed message');
    isBehind = taken === ROWS_PER_TRANSACTION;
    if (isBehind) return null;
    if (taken > 0) idleSince = Date.now();
    if (Date.now() - idleSince >= LINGER_MS || isTestTime())
      return decide(pools, workspaceId, dripDrainerId(workspaceId), lookAtBuffer);
    await pause(POLL_MS);
    return null;
  });
  return isDue(look) && !isBehind ? LEFT_DUE : look;
}

export function createDrainActivities({ roundClaims, ...dependencies }: Dependencies) {
  return {
    /** Drains the buffer of a workspace, where the rounds of processes did not suffice. */
    async drainDrips({ workspaceId }: { workspaceId: string }): Promise<Round> {
      const workflowId = dripDrainerId(workspaceId);
      return withHeartbeat(async (canceled) =>
        roundClaims.during({ workspaceId, workflowId }, async () =>
          leftToProcesses(await drain(dependencies, workspaceId, canceled)),
        ),
      );
    },
  };
}

/** The rounds of drainers that processes take themselves. */
export const drainRounds = (dependencies: Pick<Dependencies, 'pools' | 'logger'>, slots: number): Rounds => ({
  slots,
  async run({ workspaceId }, canceled) {
    const next = await drain(dependencies, workspaceId, canceled);
    return isDue(next) && !canceled.aborted ? 'hand over' : 'done';
  },
});

async function lookAtBuffer(db: TenantDb): Promise<Look> {
  return (await hasBufferedDrips(db)) ? dueNow(MORE) : { nextAt: null, reason: 'the buffer is empty' };
}
