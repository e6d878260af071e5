/** Does work that waits at the same moment together, for example in one commit. */
export interface Batches<Item> {
  /** Settles when the item is done. Only items of the same owner are done together. */
  add(owner: string, item: Item): Promise<void>;
}

export interface BatchOptions {
  /** The maximum number of items in a batch. */
  most: number;
  /** The maximum number of an owner's batches under way. While that many are, items wait. */
  atOnce: number;
}

interface Waiting<Item> {
  item: Item;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * @param work does all of the items or none. If it fails for several, it is called again for each of them alone, so
 *   that no item fails because of another.
 */
export function createBatches<Item>(
  work: (owner: string, items: readonly Item[]) => Promise<void>,
  { most, atOnce }: BatchOptions,
): Batches<Item> {
  const owners = new Map<string, { waiting: Waiting<Item>[]; underway: number }>();

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

  async function drain(owner: string): Promise<void> {
    const own = owners.get(owner);
    if (!own) return;
    while (own.waiting.length > 0) await doTogether(owner, own.waiting.splice(0, most));
    own.underway -= 1;
    if (own.underway === 0) owners.delete(owner);
  }

  return {
    add: (owner, item) =>
      new Promise((resolve, reject) => {
        const own = owners.get(owner) ?? { waiting: [], underway: 0 };
        owners.set(owner, own);
        own.waiting.push({ item, resolve, reject });
        if (own.underway >= atOnce) return;
        own.underway += 1;
        // Items that arrive in the same turn of the event loop join the batch.
        setImmediate(() => void drain(owner));
      }),
  };
}
