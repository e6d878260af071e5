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
  /**
   * While one batch is in progress, another starts only with this many items, so that they share its cost; default: 1.
   * After a moment it starts with fewer, so that a slow batch does not delay them.
   */
  minConcurrentSize?: number;
}

/** How long items wait for others while a batch is in progress. */
const MAX_WAIT_MS = 50;

interface Waiting<Item> {
  item: Item;
  resolve(): void;
  reject(error: unknown): void;
}

interface Owner<Item> {
  waiting: Waiting<Item>[];
  underway: number;
  timer?: NodeJS.Timeout | undefined;
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

  const mayBegin = ({ waiting }: Owner<Item>, others: number): boolean =>
    others === 0 ? waiting.length > 0 : others < concurrency && waiting.length >= minConcurrentSize;

  async function drain(owner: string, own: Owner<Item>): Promise<void> {
    do await doTogether(owner, own.waiting.splice(0, maxSize));
    while (mayBegin(own, own.underway - 1));
    own.underway -= 1;
    if (own.waiting.length > 0) beginLater(owner, own);
    else if (own.underway === 0) owners.delete(owner);
  }

  function begin(owner: string, own: Owner<Item>): void {
    own.underway += 1;
    // Items that arrive in the same turn of the event loop join the batch.
    setImmediate(() => void drain(owner, own));
  }

  function beginLater(owner: string, own: Owner<Item>): void {
    own.timer ??= setTimeout(() => {
      own.timer = undefined;
      if (own.waiting.length > 0 && own.underway < concurrency) begin(owner, own);
    }, MAX_WAIT_MS);
  }

  return {
    add: (owner, item) =>
      new Promise((resolve, reject) => {
        const own = owners.get(owner) ?? { waiting: [], underway: 0 };
        owners.set(owner, own);
        own.waiting.push({ item, resolve, reject });
        if (mayBegin(own, own.underway)) begin(owner, own);
        else beginLater(owner, own);
      }),
  };
}
