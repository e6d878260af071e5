import pLimit from 'p-limit';

/**
 * Works on the items, several at a time, and starts no more once canceled. Waits for all that have started even if one fails:
 * an activity that is over must not go on beside its retry, which would pay for the same work again.
 * @throws the first error.
 */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  { atOnce, canceled }: { atOnce: number; canceled: AbortSignal },
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const limit = pLimit(atOnce);
  const ended = await Promise.allSettled(
    items.map((item) => limit(async () => (canceled.aborted ? undefined : work(item)))),
  );
  for (const item of ended) if (item.status === 'rejected') throw item.reason;
}
