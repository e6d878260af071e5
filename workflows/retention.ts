import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { HOUSEKEEPING_QUEUE } from './protocol/task-queues.ts';

const { trim } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Publish events, delete expired data, and record the sizes of workspaces for the planner',
  startToCloseTimeout: '10 minutes',
  // The operator who started it learns that no worker takes the task.
  scheduleToStartTimeout: '5 minutes',
  heartbeatTimeout: '30s',
  // Housekeeping retries it anyway.
  retry: { maximumAttempts: 1 },
});

/** Started by operators. Deletes expired data now, with the rest of what `housekeeping` does in the same activity. */
export async function retention(): Promise<{ trimmed: number }> {
  return { trimmed: await trim() };
}
