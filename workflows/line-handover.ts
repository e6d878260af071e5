import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { HOUSEKEEPING_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { handOver } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Give the next messages to other lines',
  startToCloseTimeout: '5 minutes',
  // A retry continues after the last committed chunk, so a crash repeats at most one.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/**
 * One per line and workspace, for a line that left the workspace or stopped sending with more messages than one
 * transaction reassigns. Assigns them to other lines in chunks, in queue order, and ends with the last.
 */
export async function lineHandover(input: WakeInput): Promise<string> {
  const loop = createLoop('messagesDue', 'overdue');
  const outcome = await loop.repeat(() => handOver(input));
  return outcome ?? continueAsNew<typeof lineHandover>(input);
}
