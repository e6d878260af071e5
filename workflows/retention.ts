import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { HOUSEKEEPING_QUEUE } from './messages/task-queues.ts';

const { trim } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Delete what is past its time',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  // The schedule is the retry.
  retry: { maximumAttempts: 1 },
});

/** For operators, at once: deletes what has aged, as `housekeeping` does by schedule. */
export async function retention(): Promise<{ trimmed: number }> {
  return { trimmed: await trim() };
}
