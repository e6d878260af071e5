import { carrierQueue, QUEUES } from '#workflows/protocol/task-queues.ts';

/** A task queue that this process serves. */
export interface ServedQueue {
  taskQueue: string;
  /** Workflows run on the main queue only. */
  runsWorkflows: boolean;
  /** Concurrent activities. */
  slots: number;
  /** Concurrent polls. Each costs memory and processor time, even if idle. */
  pollers: number;
}

type Name = keyof typeof QUEUES;

/** Work that mostly waits has many slots, because each costs little more than a promise. */
const SLOTS: Record<Name, number> = {
  main: 100,
  webhooks: 200,
  model: 200,
  media: 20,
  mail: 20,
  payments: 20,
  housekeeping: 20,
};
const SLOTS_PER_CARRIER = 400;
/**
 * By default, Temporal splits a task queue into four partitions. With fewer pollers than partitions, a task can wait for
 * minutes in a partition that nobody polls.
 */
const POLLERS = 4;

/**
 * The task queues that a process serves.
 * @param names `WORKER_QUEUES`; null: all of them.
 * @param slots `WORKER_SLOTS`
 * @throws listing every unknown name.
 */
export function servedQueues(
  { names, slots }: { names: readonly string[] | null; slots: Readonly<Record<string, number>> },
  carriers: readonly string[],
): ServedQueue[] {
  const all = new Map<string, ServedQueue>([
    ...(Object.keys(QUEUES) as Name[]).map((name): [string, ServedQueue] => [
      name,
      {
        taskQueue: QUEUES[name],
        runsWorkflows: name === 'main',
        slots: slots[name] ?? SLOTS[name],
        pollers: POLLERS,
      },
    ]),
    ...carriers.map((carrier): [string, ServedQueue] => {
      const taskQueue = carrierQueue(carrier);
      return [
        taskQueue,
        {
          taskQueue,
          runsWorkflows: false,
          slots: slots[taskQueue] ?? SLOTS_PER_CARRIER,
          pollers: POLLERS,
        },
      ];
    }),
  ]);
  const problems = [
    ...(names ?? [])
      .filter((name) => !all.has(name))
      .map((name) => `WORKER_QUEUES: there is no queue ${name}`),
    ...Object.keys(slots)
      .filter((name) => !all.has(name))
      .map((name) => `WORKER_SLOTS: there is no queue ${name}`),
  ];
  if (problems.length > 0) {
    const known = `The queues are ${[...all.keys()].join(', ')}.`;
    throw new Error(`The configuration is not valid:\n  ${problems.join('\n  ')}\n${known}`);
  }
  return [...all].flatMap(([name, queue]) => (names === null || names.includes(name) ? [queue] : []));
}
