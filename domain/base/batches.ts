import { type BatchSchedule, createBatchSchedule } from './batch-schedule.ts';

/** Processes items that wait at the same time together, for example in one commit. */
export interface Batches<Item> {
  /** Settles when the item is done. A batch contains only items of one owner. */
  add(owner: string, item: Item): Promise<void>;
}

export interface BatchOptions {
  /** The maximum number of items in a batch; default: 64. In a larger one, the first would wait for the last. */
  maxSize?: number;
  /**
   * The maximum number of an owner's batches in progress; default: 2, so that while one waits for a lock, the others
   * continue. Further items wait.
   */
  concurrency?: number;
  /** While one batch is in progress, another starts at once only with this many items; default: 1. */
  minConcurrentSize?: number;
}

interface Waiting<Item> {
  item: Item;
  resolve(): void;
  reject(error: unknown): void;
}

interface Owner<Item> {
  waiting: Waiting<Item>[];
  schedule: BatchSchedule;
}

/**
 * @param work processes all of the items or none. If it fails for several, it is called again for each item alone, so
 *   that no item fails because of another.
 */
export function createBatches<Item>(
  work: (owner: string, items: readonly Item[]) => Promise<void>,
  { maxSize = 64, concurrency = 2, minConcurrentSize = 1 }: BatchOptions = {},
): Batches<Item> {
  const owners = new Map<string, Owner<Item>>();

  async function doAlone(owner: string, { item, resolve, reject }: Waiting<Item>): Promise<void> {
    await work(owner, [item]).then(resolve, reject);
  }

  async function doTogether(owner: string, batch: readonly Waiting<Item>[]): Promise<void> {
    const [only, ...others] = batch;
    if (!only) return;
    if (others.length === 0) return doAlone(owner, only);
    try {
      await work(
        owner,
        batch.map(({ item }) => item),
      );
    } catch {
      await Promise.all(batch.map((one) => doAlone(owner, one)));
      return;
    }
    for (const { resolve } of batch) resolve();
  }

  function createOwner(owner: string): Owner<Item> {
    const waiting: Waiting<Item>[] = [];
    const schedule = createBatchSchedule({
      concurrency,
      minConcurrentSize,
      countWaiting: () => waiting.length,
      runBatch: () => doTogether(owner, waiting.splice(0, maxSize)),
      onIdle: () => owners.delete(owner),
    });
    const own = { waiting, schedule };
    owners.set(owner, own);
    return own;
  }

  return {
    add: (owner, item) =>
      new Promise((resolve, reject) => {
        const { waiting, schedule } = owners.get(owner) ?? createOwner(owner);
        waiting.push({ item, resolve, reject });
        schedule.itemAdded();
      }),
  };
}
