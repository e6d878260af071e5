import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { HOUSEKEEPING_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { clearList } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Delete the next leads of the list',
  startToCloseTimeout: '5 minutes',
  // A retry continues after the last committed chunk, so a crash repeats at most one.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per deleted list that is too large for one request. Deletes its leads in chunks and ends with the last. */
export async function listDeletion(input: WakeInput): Promise<string> {
  const loop = createLoop('requested', 'overdue');
  const outcome = await loop.repeat(() =>
    clearList({ workspaceId: input.workspaceId, listId: input.subjectId }),
  );
  return outcome ?? continueAsNew<typeof listDeletion>(input);
}
