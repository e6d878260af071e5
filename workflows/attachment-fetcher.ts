import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { MEDIA_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { fetchReplyAttachments } = proxyActivities<Activities>({
  taskQueue: MEDIA_QUEUE,
  summary: 'Fetch the files that contacts sent',
  // A round fetches files for 20 seconds, and the last ones may take half an hour: the contact's server can be slow.
  startToCloseTimeout: '40 minutes',
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per workspace whose contacts send files. Copies them from the carrier to storage, in batches. */
export async function attachmentFetcher(input: WakeInput): Promise<string> {
  const loop = createLoop('filesDue', 'overdue');
  const outcome = await loop.repeat(() => fetchReplyAttachments({ workspaceId: input.workspaceId }));
  return outcome ?? continueAsNew<typeof attachmentFetcher>(input);
}
