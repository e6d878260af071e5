import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { MODEL_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { writeMessages } = proxyActivities<Activities>({
  taskQueue: MODEL_QUEUE,
  summary: 'Have the model write the due messages',
  // A round lasts 45 seconds, and model calls in progress at its end may take 120 more.
  startToCloseTimeout: '10 minutes',
  // After a crash, the model is called again only for messages whose texts were not stored.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/**
 * One per campaign whose messages are written for each lead. Writes many messages in one activity, some minutes before
 * they are due. If the model fails, the message is sent as its template.
 */
export async function personalizer(input: WakeInput): Promise<string> {
  const loop = createLoop('personalizationsDue', 'overdue');
  const outcome = await loop.repeat(() =>
    writeMessages({ workspaceId: input.workspaceId, campaignId: input.subjectId }),
  );
  return outcome ?? continueAsNew<typeof personalizer>(input);
}
