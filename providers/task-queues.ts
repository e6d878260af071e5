import type { Client } from '@temporalio/client';
import { carrierQueue, MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';

/** The backlog and the pollers of a task queue. */
export interface TaskQueueState {
  /** Workers that polled in the last minute. */
  pollers: number;
  backlog: number;
  /** The age of its oldest task, in seconds. */
  backlogAge: number;
}

export type TaskQueueType = keyof typeof TASK_QUEUE_TYPE;

/** Reports on task queues. */
export interface TaskQueues {
  /** @throws if Temporal does not respond in time. */
  stateOf(name: string, type: TaskQueueType): Promise<TaskQueueState>;
  /**
   * Returns a task queue that sending through a carrier requires and no worker polls. Returns null if all are polled, or
   * if Temporal does not respond in time.
   */
  unservedFor(carrier: string): Promise<string | null>;
  /** Whether workers poll the activities of a task queue; false if Temporal does not respond in time. */
  isPolled(name: string): Promise<boolean>;
}

/** A caller of the API waits for it. */
const TIMEOUT_MS = 1000;
const STATE_TIMEOUT_MS = 5000;
/** A poll lasts at most a minute, but Temporal lists a poller for five. */
const POLLED_WITHIN_MS = 75_000;

/** Every look at a message that waits asks. */
const UNSERVED_FOR_MS = 3000;

/** The values of Temporal's API. */
const TASK_QUEUE_TYPE = { workflow: 1, activity: 2 } as const;

export function createTaskQueues(connection: Client['connection'], namespace: string): TaskQueues {
  async function stateOf(name: string, type: TaskQueueType): Promise<TaskQueueState> {
    const { pollers, stats } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
      taskQueueType: TASK_QUEUE_TYPE[type],
      reportStats: true,
    });
    const since = (Date.now() - POLLED_WITHIN_MS) / 1000;
    const { seconds = 0, nanos = 0 } = stats?.approximateBacklogAge ?? {};
    return {
      pollers: pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= since).length,
      backlog: Number(stats?.approximateBacklogCount ?? 0),
      backlogAge: Number(seconds) + Number(nanos) / 1e9,
    };
  }

  const unserved = new Map<string, { queue: Promise<string | null>; until: number }>();

  async function findUnserved(carrier: string): Promise<string | null> {
    const required = [
      [MAIN_QUEUE, 'workflow'],
      [carrierQueue(carrier), 'activity'],
    ] as const;
    try {
      const polled = await connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
        Promise.all(required.map(async ([name, type]) => (await stateOf(name, type)).pollers > 0)),
      );
      return required.find((_, index) => !polled[index])?.[0] ?? null;
    } catch {
      return null;
    }
  }

  return {
    stateOf: (name, type) =>
      connection.withDeadline(Date.now() + STATE_TIMEOUT_MS, () => stateOf(name, type)),
    isPolled: (name) =>
      connection
        .withDeadline(Date.now() + TIMEOUT_MS, () => stateOf(name, 'activity'))
        .then(({ pollers }) => pollers > 0)
        .catch(() => false),
    unservedFor(carrier) {
      const known = unserved.get(carrier);
      if (known && performance.now() < known.until) return known.queue;
      const queue = findUnserved(carrier);
      unserved.set(carrier, { queue, until: performance.now() + UNSERVED_FOR_MS });
      return queue;
    },
  };
}
