import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import type { TaskQueues, TaskQueueState, TaskQueueType } from '#providers/task-queues.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';

/** All scrapes within this time get the same numbers, so Temporal is queried once per queue. */
const ASK_EVERY_MS = 30_000;

const GAUGES: Record<keyof TaskQueueState, [name: string, help: string]> = {
  pollers: ['linepace_task_queue_pollers', 'Polls of workers for tasks in the last minute'],
  backlog: ['linepace_task_queue_backlog', 'Tasks that wait for a worker, approximately'],
  backlogAge: ['linepace_task_queue_backlog_age_seconds', 'Age of the oldest task that waits for a worker'],
};
const LABELS = ['queue', 'type'] as const;

/**
 * Observes all task queues, including those that this process does not serve: otherwise nobody would
 * report a queue that no process serves. The numbers are the same in every process. They are absent while Temporal does not respond.
 */
export function observeTaskQueues(
  taskQueues: TaskQueues,
  names: readonly string[],
  registry: Registry,
  logger: Logger,
): void {
  let askedAt = -Infinity;
  let asked: Promise<void> = Promise.resolve();
  const gauges = Object.entries(GAUGES).map(([key, [name, help]]) => ({
    key: key as keyof TaskQueueState,
    gauge: new Gauge({ name, help, labelNames: LABELS, registers: [registry], collect: () => states() }),
  }));
  const observed: [name: string, type: TaskQueueType][] = [
    [MAIN_QUEUE, 'workflow'],
    ...names.map((name): [string, TaskQueueType] => [name, 'activity']),
  ];

  async function observe(queue: string, type: TaskQueueType): Promise<void> {
    try {
      const state = await taskQueues.stateOf(queue, type);
      for (const { key, gauge } of gauges) gauge.set({ queue, type }, state[key]);
    } catch (error) {
      logger.warn({ error, queue, type }, 'a task queue could not be observed');
      for (const { gauge } of gauges) gauge.remove({ queue, type });
    }
  }

  function states(): Promise<void> {
    if (performance.now() - askedAt >= ASK_EVERY_MS) {
      askedAt = performance.now();
      asked = Promise.all(observed.map(([name, type]) => observe(name, type))).then(() => {});
    }
    return asked;
  }
}
