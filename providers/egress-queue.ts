interface Lane {
  running: number;
  waiting: Set<() => void>;
}

/**
 * Runs at most `limit` requests per key concurrently; others wait in order of arrival. This bounds the sockets of a
 * hanging endpoint, and an aborted request leaves nothing in the HTTP client's queue.
 */
export function createQueue(limit: number): {
  /** Resolves to the function that releases the slot. @throws the signal's reason if it is aborted first. */
  enter(key: string, signal: AbortSignal): Promise<() => void>;
} {
  const lanes = new Map<string, Lane>();

  function leave(key: string, lane: Lane): void {
    const [next] = lane.waiting;
    if (next) {
      lane.waiting.delete(next);
      next();
      return;
    }
    lane.running -= 1;
    if (lane.running === 0) lanes.delete(key);
  }

  return {
    async enter(key, signal) {
      signal.throwIfAborted();
      const lane = lanes.get(key) ?? { running: 0, waiting: new Set() };
      lanes.set(key, lane);
      if (lane.running < limit) {
        lane.running += 1;
      } else {
        await new Promise<void>((resolve, reject) => {
          const giveUp = (): void => {
            lane.waiting.delete(admit);
            reject(signal.reason);
          };
          const admit = (): void => {
            signal.removeEventListener('abort', giveUp);
            resolve();
          };
          signal.addEventListener('abort', giveUp, { once: true });
          lane.waiting.add(admit);
        });
      }
      return () => leave(key, lane);
    },
  };
}
