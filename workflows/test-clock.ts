import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { TEST_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { moveTestClock } = proxyActivities<Activities>({
  taskQueue: TEST_QUEUE,
  summary: 'Move the clock from one due time to the next, and wait for the work of each',
  // A round lasts two minutes, but completes a step that has started.
  startToCloseTimeout: '5 minutes',
  // A retry continues from the current time of the clock.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per workspace in test mode whose clock is moving. */
export async function testClock(input: WakeInput): Promise<string> {
  const loop = createLoop('requested', 'overdue');
  const outcome = await loop.repeat(() => moveTestClock({ workspaceId: input.workspaceId }));
  return outcome ?? continueAsNew<typeof testClock>(input);
}
