/**
 * Takes up to `limit` items, by turns from each queue, so that none waits behind the backlog of another.
 * @param queues in the order of their turns; a queue that was served and has more moves behind the others.
 */
export function takeFairly<Item>(queues: Map<string, Item[]>, limit: number): Item[] {
  const taken: Item[] = [];
  while (queues.size > 0 && taken.length < limit) {
    const share = Math.max(1, Math.floor((limit - taken.length) / queues.size));
    for (const [name, queue] of [...queues].slice(0, limit - taken.length)) {
      taken.push(...queue.splice(0, share));
      queues.delete(name);
      if (queue.length > 0) queues.set(name, queue);
    }
  }
  return taken;
}
