interface BatchScheduleOptions {
  /** The maximum number of batches in progress. Further items wait. */
  concurrency: number;
  /**
   * While one batch is in progress, another starts only with this many items, so that they share its cost. After a moment it
   * starts with fewer, so that a slow batch does not delay them.
   */
  minConcurrentSize: number;
  /** The number of waiting items. */
  countWaiting(): number;
  /** Takes some of the waiting items and processes them. It must not reject. */
  runBatch(): Promise<void>;
  /** Called when nothing waits and no batch is in progress. */
  onIdle?(): void;
}

/** How long items wait for others while a batch is in progress. */
const MAX_WAIT_MS = 50;

/** Decides when batches of waiting items start. */
export interface BatchSchedule {
  /** Call it after an item was added. */
  itemAdded(): void;
}

export function createBatchSchedule({
  concurrency,
  minConcurrentSize,
  countWaiting,
  runBatch,
  onIdle,
}: BatchScheduleOptions): BatchSchedule {
  let running = 0;
  let timer: NodeJS.Timeout | undefined;

  const mayStart = (others: number): boolean =>
    others === 0 ? countWaiting() > 0 : others < concurrency && countWaiting() >= minConcurrentSize;

  async function runBatches(): Promise<void> {
    do await runBatch();
    while (mayStart(running - 1));
    running -= 1;
    if (countWaiting() > 0) startLater();
    else if (running === 0) onIdle?.();
  }

  function start(): void {
    running += 1;
    // Items that arrive in the same turn of the event loop join the batch.
    setImmediate(() => void runBatches());
  }

  function startLater(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (countWaiting() > 0 && running < concurrency) start();
    }, MAX_WAIT_MS);
  }

  return {
    itemAdded() {
      if (mayStart(running)) start();
      else startLater();
    },
  };
}
