import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { MODEL_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { writeMessages } = proxyActivities<Activities>({
  taskQueue: MODEL_QUEUE,
  summary: 'Have the model write what falls due',
  // A round works for 45 seconds, and the questions under way when they end may take 120 more.
  startToCloseTimeout: '10 minutes',
  // A worker that died has kept what was written; the model is asked again about the rest.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * One per campaign that wants its messages written for each lead: many in one activity, some minutes before they are
 * due. A message that the model fails at leaves as its template says.
 */
export async function personalizer(input: WakeInput): Promise<void> {
  const ended = await workLoop(() =>
    writeMessages({ workspaceId: input.workspaceId, campaignId: input.subjectId }),
  );
  if (!ended) await continueAsNew<typeof personalizer>(input);
}
