import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { HOUSEKEEPING_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { checkLeads } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Check the next leads',
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per check of many leads: asks about them, some seconds of work at a time, and ends with the last. */
export async function availabilityJob(input: WakeInput): Promise<void> {
  const ended = await workLoop(() => checkLeads({ workspaceId: input.workspaceId, jobId: input.subjectId }));
  if (!ended) await continueAsNew<typeof availabilityJob>(input);
}
