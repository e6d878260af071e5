/** Nothing came free in time. Nothing was done, so the caller may try again. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

/** Shares a limited number of connections between payers, so that none of them waits behind another's backlog. */
export interface FairQueue {
  /**
   * Runs work for a payer as soon as it is its turn.
   * @throws Busy when the payer's queue is full, or its turn did not come in time.
   */
  run<T>(payer: string, work: () => Promise<T>): Promise<T>;
}

export interface FairQueueOptions {
  /** How many run at the same time. */
  size: number;
  /** How many of one payer run at the same time. */
  share: number;
  /** How many of one payer wait at most. */
  maxWaiting: number;
  /** How long each waits at most, in milliseconds. */
  patienceMs: number;
}

interface Payer {
  running: number;
  /** What starts each of those who wait, in the order of their arrival. */
  waiting: Set<() => void>;
}

export function createFairQueue({ size, share, maxWaiting, patienceMs }: FairQueueOptions): FairQueue {
  /** Only those who run or wait, in the order of their turns. */
  const payers = new Map<string, Payer>();
  let running = 0;

  function startNext(): void {
    for (const payer of payers.values()) {
      if (running >= size) return;
      const [start] = payer.waiting;
      if (!start || payer.running >= share) continue;
      payer.waiting.delete(start);
      payer.running++;
      running++;
      start();
    }
  }

  async function turn(id: string, payer: Payer): Promise<void> {
    if (payer.waiting.size >= maxWaiting) throw new Busy('too many requests are waiting');
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        payer.waiting.delete(start);
        if (payer.running === 0 && payer.waiting.size === 0) payers.delete(id);
        reject(new Busy(`no connection within ${patienceMs} ms`));
      }, patienceMs);
      payer.waiting.add(start);
      startNext();
    });
  }

  return {
    async run(id, work) {
      const payer = payers.get(id) ?? { running: 0, waiting: new Set() };
      payers.set(id, payer);
      await turn(id, payer);
      try {
        return await work();
      } finally {
        payer.running--;
        running--;
        // The others come first now.
        payers.delete(id);
        if (payer.running > 0 || payer.waiting.size > 0) payers.set(id, payer);
        startNext();
      }
    },
  };
}
