import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { HOUSEKEEPING_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { importLeads } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Save the next rows of the file',
  startToCloseTimeout: '5 minutes',
  // A retry continues after the last committed batch, so a crash repeats at most one.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per CSV file. Saves its rows to a list and ends with the file. */
export async function leadImport(input: WakeInput): Promise<string> {
  const loop = createLoop('requested', 'overdue');
  const outcome = await loop.repeat(() =>
    importLeads({ workspaceId: input.workspaceId, importId: input.subjectId }),
  );
  return outcome ?? continueAsNew<typeof leadImport>(input);
}
