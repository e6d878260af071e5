/** No slot became free in time. The work did not start, so the caller may retry. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

/** Shares a limited number of slots, such as connections, so that no payer waits behind another's backlog. */
export interface FairQueue {
  /**
   * Runs work when it is the payer's turn.
   * @param signal once it is aborted, work that has not started gives up its place.
   * @throws Busy if the payer's queue is full, or its turn does not come in time; the signal's reason
   */
  run<T>(payer: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export interface FairQueueOptions {
  /** The maximum concurrent work; default: unlimited. */
  size?: number;
  /** The maximum concurrent work of one payer. */
  share: number;
  /** The maximum waiting work of one payer. */
  maxWaiting: number;
  /** The maximum wait in milliseconds; default: unlimited. */
  timeoutMs?: number;
}

interface Payer {
  running: number;
  /** Starts the waiting work, in order of arrival. */
  waiting: Set<() => void>;
}

export function createFairQueue({
  size = Infinity,
  share,
  maxWaiting,
  timeoutMs,
}: FairQueueOptions): FairQueue {
  /** The payers with running or waiting work, in the order of their turns. */
  const payers = new Map<string, Payer>();
  let running = 0;
  /** Slots for payers without running work, so that light users do not wait for heavy ones. */
  const reserved = size === Infinity ? 0 : Math.floor(size / 4);

  const mayStart = (payer: Payer): boolean =>
    payer.waiting.size > 0 &&
    payer.running < share &&
    running < (payer.running === 0 ? size : size - reserved);

  /** The payer with the least running work; of equals, the one whose last turn is the longest ago. */
  function next(): Payer | undefined {
    let first: Payer | undefined;
    for (const payer of payers.values())
      if (mayStart(payer) && (!first || payer.running < first.running)) first = payer;
    return first;
  }

  function startNext(): void {
    for (let payer = next(); payer; payer = next()) {
      const [start] = payer.waiting;
      if (!start) return;
      payer.waiting.delete(start);
      payer.running++;
      running++;
      start();
    }
  }

  async function turn(id: string, payer: Payer, signal: AbortSignal | undefined): Promise<void> {
    if (payer.waiting.size >= maxWaiting) throw new Busy('too much of it waits');
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abandon);
      };
      const start = (): void => {
        end();
        resolve();
      };
      const giveUp = (reason: Error): void => {
        end();
        payer.waiting.delete(start);
        if (payer.running === 0 && payer.waiting.size === 0) payers.delete(id);
        reject(reason);
      };
      const abandon = (): void => giveUp(signal?.reason as Error);
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => giveUp(new Busy(`no slot became free within ${timeoutMs} ms`)), timeoutMs);
      signal?.addEventListener('abort', abandon);
      payer.waiting.add(start);
      startNext();
    });
  }

  return {
    async run(id, work, signal) {
      signal?.throwIfAborted();
      const payer = payers.get(id) ?? { running: 0, waiting: new Set() };
      payers.set(id, payer);
      await turn(id, payer, signal);
      try {
        return await work();
      } finally {
        payer.running--;
        running--;
        // Moves the payer behind the others.
        payers.delete(id);
        if (payer.running > 0 || payer.waiting.size > 0) payers.set(id, payer);
        startNext();
      }
    },
  };
}
