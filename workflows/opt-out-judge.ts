import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { MODEL_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { judgeReplies } = proxyActivities<Activities>({
  taskQueue: MODEL_QUEUE,
  summary: 'Ask the model whether replies ask to be left alone',
  // A round lasts 45 seconds, and model calls in progress at its end may take 120 more.
  startToCloseTimeout: '10 minutes',
  // After a crash, the model is asked again only about replies whose answers were not stored.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per workspace with doubtful replies. Asks the model about many in one activity. Campaigns to their contacts wait. */
export async function optOutJudge(input: WakeInput): Promise<string> {
  const loop = createLoop('repliesDoubted', 'overdue');
  const outcome = await loop.repeat(() => judgeReplies({ workspaceId: input.workspaceId }));
  return outcome ?? continueAsNew<typeof optOutJudge>(input);
}
