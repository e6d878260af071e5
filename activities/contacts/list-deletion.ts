import { currentTime, fromNow } from '#domain/base/clock.ts';
import { deleteChunk } from '#db/commands/contacts/list-deletion.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { listDeletionId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { dueNow, repeatFor } from '../base/round.ts';

const ROUND_MS = 60_000;
const BUSY_MS = 1000;
const MORE = 'there are more leads to delete';

const LOOKS: Record<Awaited<ReturnType<typeof deleteChunk>>, () => Look> = {
  done: () => ({ nextAt: null, reason: 'the list is deleted', ended: true }),
  more: () => dueNow(MORE),
  busy: () => ({ nextAt: fromNow(BUSY_MS), reason: 'the leads that are left are being changed' }),
};

export function createListDeletionActivities({ pools }: Dependencies) {
  return {
    /** Deletes the leads of a deleted list, in one transaction per chunk. */
    clearList: ({ workspaceId, listId }: { workspaceId: string; listId: string }): Promise<Round> =>
      repeatFor(ROUND_MS, MORE, () =>
        decide(pools, workspaceId, listDeletionId(listId), async (db) =>
          LOOKS[await deleteChunk(db, listId, currentTime())](),
        ),
      ),
  };
}
