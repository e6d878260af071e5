import type { Client } from '@temporalio/client';
import { carrierQueue, MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

/** Which task queues have workers, as Temporal sees them. */
export interface TaskQueues {
  /**
   * The task queue that sending through a carrier needs and no worker polls; null: all are polled, or Temporal does
   * not answer in time.
   */
  unservedFor(carrier: string): Promise<string | null>;
}

const TIMEOUT_MS = 1000;
/** A worker polls again after a minute at the latest; Temporal lists it for five. */
const POLLS_WITHIN_MS = 75_000;

/** Of Temporal's API. */
const TASK_QUEUE_TYPE = { workflow: 1, activity: 2 } as const;

export function createTaskQueues(connection: Client['connection'], namespace: string): TaskQueues {
  async function isPolled(name: string, type: keyof typeof TASK_QUEUE_TYPE): Promise<boolean> {
    const { pollers } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
      taskQueueType: TASK_QUEUE_TYPE[type],
    });
    const since = (Date.now() - POLLS_WITHIN_MS) / 1000;
    return pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= since);
  }

  return {
    async unservedFor(carrier) {
      const needed = [
        [MAIN_QUEUE, 'workflow'],
        [carrierQueue(carrier), 'activity'],
      ] as const;
      try {
        const polled = await connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
          Promise.all(needed.map(([name, type]) => isPolled(name, type))),
        );
        return needed.find((_, index) => !polled[index])?.[0] ?? null;
      } catch {
        return null;
      }
    },
  };
}
