import pLimit from 'p-limit';

/**
 * Works on the items one after the other until canceled, on all of them though some fail: one that always fails must not keep those
 * after it waiting.
 * @throws the first error, at the end.
 */
export async function forEachInTurn<Item>(
  items: readonly Item[],
  canceled: AbortSignal,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) {
    if (canceled.aborted) break;
    await work(item).catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw errors[0];
}

/**
 * Works on the items, several at a time, and starts no more once canceled or once one has failed. Waits for those that have
 * started: an activity that is over must not go on beside its retry, which would pay for the same work again.
 * @throws the first error.
 */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  { atOnce, canceled }: { atOnce: number; canceled: AbortSignal },
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const limit = pLimit(atOnce);
  let hasFailed = false;
  const start = async (item: Item): Promise<void> => {
    if (canceled.aborted || hasFailed) return;
    await work(item).catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  };
  const ended = await Promise.allSettled(items.map((item) => limit(start, item)));
  for (const item of ended) if (item.status === 'rejected') throw item.reason;
}
