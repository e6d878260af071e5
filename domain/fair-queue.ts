/** Nothing came free in time. Nothing was done, so the caller may try again. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

/** Shares what there is a limited number of, such as connections, so that no payer waits behind another's backlog. */
export interface FairQueue {
  /**
   * Runs work for a payer as soon as it is its turn.
   * @throws Busy when the payer's queue is full, or its turn did not come in time.
   */
  run<T>(payer: string, work: () => Promise<T>): Promise<T>;
}

export interface FairQueueOptions {
  /** How many run at the same time; default: any number. */
  size?: number;
  /** How many of one payer run at the same time. */
  share: number;
  /** How many of one payer wait at most. */
  maxWaiting: number;
  /** How long each waits at most, in milliseconds; default: as long as it takes. */
  timeoutMs?: number;
}

interface Payer {
  running: number;
  /** What starts each of those who wait, in the order of their arrival. */
  waiting: Set<() => void>;
}

export function createFairQueue({
  size = Infinity,
  share,
  maxWaiting,
  timeoutMs,
}: FairQueueOptions): FairQueue {
  /** Only those who run or wait, in the order of their turns. */
  const payers = new Map<string, Payer>();
  let running = 0;
  /** Only for payers of whom nothing runs: whoever asks for little does not wait for those who ask for much. */
  const reserved = size === Infinity ? 0 : Math.floor(size / 4);

  const mayStart = (payer: Payer): boolean =>
    payer.waiting.size > 0 &&
    payer.running < share &&
    running < (payer.running === 0 ? size : size - reserved);

  /** Of whom the fewest run comes first, then whose turn is longest ago. */
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

  async function turn(id: string, payer: Payer): Promise<void> {
    if (payer.waiting.size >= maxWaiting) throw new Busy('too much of it waits');
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = (): void => {
        payer.waiting.delete(start);
        if (payer.running === 0 && payer.waiting.size === 0) payers.delete(id);
        reject(new Busy(`nothing came free within ${timeoutMs} ms`));
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
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
