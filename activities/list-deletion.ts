import { currentTime } from '#domain/clock.ts';
import { deleteChunk } from '#db/commands/contacts/list-deletion.ts';
import { decide } from '#db/decisions.ts';
import { listDeletionId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isDue, roundOf } from './round.ts';

const ROUND_MS = 60_000;

export function createListDeletionActivities({ pools }: Dependencies) {
  return {
    /** Deletes the leads of a deleted list, in one transaction per chunk. */
    async clearList({ workspaceId, listId }: { workspaceId: string; listId: string }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        while (!canceled.aborted && Date.now() < end) {
          const look = await decide(pools, workspaceId, listDeletionId(listId), async (db) =>
            (await deleteChunk(db, listId, currentTime()))
              ? { nextAt: null, reason: 'the list is deleted', ended: true }
              : { nextAt: currentTime(), reason: 'there are more leads to delete' },
          );
          if (!isDue(look)) return roundOf(look);
        }
        return { nextAt: currentTime().toISOString(), reason: 'there are more leads to delete' };
      });
    },
  };
}
