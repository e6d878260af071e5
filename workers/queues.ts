import { carrierQueue, QUEUES } from '#workflows/messages/task-queues.ts';

/** A task queue that this process serves. */
export interface ServedQueue {
  taskQueue: string;
  /** Workflows run on the main queue only. */
  runsWorkflows: boolean;
  /** Activities under way at once. */
  slots: number;
  /** Requests for tasks that are open at once: each costs memory and processor time, busy or not. */
  pollers: number;
}

type Name = keyof typeof QUEUES;

/** Work that mostly waits for others has many slots; each is little more than a promise. */
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
 * A server splits a queue into four partitions, unless it is told otherwise. With fewer requests for tasks than
 * partitions, a task can wait for minutes in one that nobody asks.
 */
const POLLERS = 4;

/**
 * The task queues that a process serves.
 * @param names `WORKER_QUEUES`; null: all of them.
 * @param slots `WORKER_SLOTS`
 * @throws with every name listed that is none of a queue.
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
