import type { Client } from '@temporalio/client';
import { carrierQueue, MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

/** Reports task queues without workers. */
export interface TaskQueues {
  /**
   * Returns a task queue that sending through a carrier requires and no worker polls. Returns null if all are polled, or
   * if Temporal does not respond in time.
   */
  unservedFor(carrier: string): Promise<string | null>;
}

const TIMEOUT_MS = 1000;
/** A poll lasts at most a minute, but Temporal lists a poller for five. */
const POLLED_WITHIN_MS = 75_000;

/** The values of Temporal's API. */
const TASK_QUEUE_TYPE = { workflow: 1, activity: 2 } as const;

export function createTaskQueues(connection: Client['connection'], namespace: string): TaskQueues {
  async function isPolled(name: string, type: keyof typeof TASK_QUEUE_TYPE): Promise<boolean> {
    const { pollers } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
      taskQueueType: TASK_QUEUE_TYPE[type],
    });
    const since = (Date.now() - POLLED_WITHIN_MS) / 1000;
    return pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= since);
  }

  return {
    async unservedFor(carrier) {
      const required = [
        [MAIN_QUEUE, 'workflow'],
        [carrierQueue(carrier), 'activity'],
      ] as const;
      try {
        const polled = await connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
          Promise.all(required.map(([name, type]) => isPolled(name, type))),
        );
        return required.find((_, index) => !polled[index])?.[0] ?? null;
      } catch {
        return null;
      }
    },
  };
}
