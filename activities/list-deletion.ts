import { deleteChunk } from '#db/commands/contacts/list-deletion.ts';
import { withTenant } from '#db/pool.ts';
import { endWake } from '#db/wakes.ts';
import { listDeletionId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/work-loop.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

const ROUND_MS = 60_000;

export function createListDeletionActivities({ pools, waker }: Dependencies) {
  return {
    /** Deletes what a list held that its workspace has deleted, a transaction for each chunk of it. */
    async clearList({ workspaceId, listId }: { workspaceId: string; listId: string }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        while (!canceled.aborted && Date.now() < end) {
          const { isDone, wakes } = await withTenant(pools, workspaceId, async (db) => {
            const chunk = await deleteChunk(db, listId, new Date());
            if (chunk.isDone) await endWake(db, listDeletionId(listId));
            return chunk;
          });
          for (const workflow of wakes) waker.wake(workflow, workspaceId);
          if (isDone) return { nextAt: null, reason: 'the list is deleted', ended: true };
        }
        return { nextAt: new Date().toISOString(), reason: 'more is to be deleted' };
      });
    },
  };
}
