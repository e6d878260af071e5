import { currentTime } from '#domain/base/clock.ts';
import { enterOptIn, waitingOptIns } from '#db/commands/contacts/opt-in.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { optInCollectorId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { forEachInTurn } from '../base/for-each.ts';
import { dueNow, isDue, repeatFor } from '../base/round.ts';

const BATCH = 50;
const ROUND_MS = 45_000;
const MORE = 'there are more contacts to save';

export function createOptInActivities({ pools }: Pick<Dependencies, 'pools'>) {
  return {
    /** Saves the contacts who wrote with a code as leads, each in a transaction of its own. @returns what the workspace waits for. */
    enterOptIns: ({ workspaceId }: { workspaceId: string }): Promise<Round> =>
      repeatFor(ROUND_MS, MORE, async (canceled) => {
        const work = await decide(pools, workspaceId, optInCollectorId(workspaceId), look);
        if (!isDue(work)) return work;
        await forEachInTurn(work.waiting, canceled, (waiting) =>
          withTenant(pools, workspaceId, (db) => enterOptIn(db, waiting, currentTime())),
        );
        return null;
      }),
  };
}

async function look(db: TenantDb): Promise<Look & { waiting: Awaited<ReturnType<typeof waitingOptIns>> }> {
  const waiting = await waitingOptIns(db, BATCH);
  return waiting.length === 0
    ? { waiting, nextAt: null, reason: 'no contact waits to be saved', ended: true }
    : { waiting, ...dueNow(MORE) };
}
