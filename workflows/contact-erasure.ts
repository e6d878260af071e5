import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { HOUSEKEEPING_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { eraseContactData } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Erase the next rows and files of the contact',
  startToCloseTimeout: '5 minutes',
  // A retry continues after the last committed chunk, so a crash repeats at most one.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per erased contact. Erases its rows and files in chunks, and again what was in progress in the meantime. */
export async function contactErasure(input: WakeInput): Promise<string> {
  const loop = createLoop('requested', 'overdue');
  const outcome = await loop.repeat(() =>
    eraseContactData({ workspaceId: input.workspaceId, erasureId: input.subjectId }),
  );
  return outcome ?? continueAsNew<typeof contactErasure>(input);
}
