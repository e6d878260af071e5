import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { HOUSEKEEPING_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { checkLeads } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Check the next leads',
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per availability check of many leads. Ends after the last lead. */
export async function availabilityJob(input: WakeInput): Promise<string> {
  const loop = createLoop('requested', 'overdue');
  const outcome = await loop.repeat(() =>
    checkLeads({ workspaceId: input.workspaceId, jobId: input.subjectId }),
  );
  return outcome ?? continueAsNew<typeof availabilityJob>(input);
}
