import { setTimeout as pause } from 'node:timers/promises';
import { type AcceptedDrips, acceptDrips } from '#db/commands/sending/accept-drips.ts';
import { hasBufferedDrips, takeDrips } from '#db/queries/drip.ts';
import { type TenantDb, withTenant } from '#db/pool.ts';
import { lockWake, setWake } from '#db/wakes.ts';
import { dripDrainerId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/work-loop.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

const BATCH = 500;
/** Drips keep coming in a burst: looking again for a moment is cheaper than being signalled for each. */
const LINGER_MS = 3000;
const POLL_MS = 250;
/** Slots are taken in turns: a workspace with more to do than this comes again behind the others. */
const ROUND_MS = 20_000;

export function createDrainActivities({ pools, waker, logger }: Dependencies) {
  return {
    /** Turns the buffered drips of a workspace into scheduled messages, until none is left. */
    async drainDrips({ workspaceId }: { workspaceId: string }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        let idleSince = Date.now();
        while (Date.now() < end && !canceled.aborted) {
          const { taken, wakes, refused } = await withTenant(pools, workspaceId, (db) =>
            drainBatch(db, new Date()),
          );
          for (const workflowId of wakes) waker.wake(workflowId, workspaceId);
          for (const { messageId, reason } of refused)
            logger.error({ workspaceId, messageId, reason }, 'a drip could not become a message');
          if (taken > 0) idleSince = Date.now();
          else if (Date.now() - idleSince < LINGER_MS) await pause(POLL_MS);
          else if (await withTenant(pools, workspaceId, goIdle))
            return { nextAt: null, reason: 'the buffer is empty' };
        }
        return { nextAt: new Date().toISOString(), reason: 'more is buffered' };
      });
    },
  };
}

async function drainBatch(db: TenantDb, now: Date): Promise<AcceptedDrips & { taken: number }> {
  const drips = await takeDrips(db, BATCH);
  return { taken: drips.length, ...(await acceptDrips(db, drips, now)) };
}

/** Under the lock that intake takes as well: either the new drip is seen here, or its request sees the idle drainer. */
async function goIdle(db: TenantDb): Promise<boolean> {
  const drainer = dripDrainerId(db.workspaceId);
  await lockWake(db, drainer);
  if (await hasBufferedDrips(db)) return false;
  await setWake(db, drainer, null);
  return true;
}
