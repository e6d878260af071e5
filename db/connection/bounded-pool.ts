import { ConnectionError, type DatabasePool } from 'slonik';
import { noteProgress } from './progress.ts';

/** No connection became free in time. The work did not start, so it can be tried again. */
export class AcquireTimeoutError extends ConnectionError {
  override readonly name = 'AcquireTimeoutError';
}

/** The methods of a pool that take a connection. */
const TAKING = [
  'any',
  'anyFirst',
  'connect',
  'exists',
  'many',
  'manyFirst',
  'maybeOne',
  'maybeOneFirst',
  'one',
  'oneFirst',
  'query',
  'record',
  'stream',
  'transaction',
] as const satisfies readonly (keyof DatabasePool)[];

type Take = (...args: readonly unknown[]) => Promise<unknown>;

/** A pool with a limit for how long work waits for a connection, which slonik's own does not have. */
export interface BoundedPool extends DatabasePool {
  /** The value of `performance.now()` when work on one of its connections last succeeded; at first, when it was opened. */
  readonly succeededAt: () => number;
}

/**
 * @param options.size the number of its connections.
 * @param options.acquireMs the maximum wait for one of them; then `AcquireTimeoutError`.
 */
export function boundPool(
  pool: DatabasePool,
  { size, acquireMs }: { size: number; acquireMs: number },
): BoundedPool {
  const waiting = new Set<() => void>();
  let free = size;
  let succeededAt = performance.now();

  async function acquire(): Promise<void> {
    if (free > 0) {
      free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(start);
      reject(new AcquireTimeoutError(`no connection became free within ${acquireMs} ms`));
    }, acquireMs);
    waiting.add(start);
    await promise;
  }

  /** The longest waiting work gets the connection. */
  function release(): void {
    const [next] = waiting;
    if (!next) {
      free += 1;
      return;
    }
    waiting.delete(next);
    next();
  }

  const bounded =
    (take: Take): Take =>
    async (...args) => {
      await acquire();
      try {
        const result = await take(...args);
        succeededAt = performance.now();
        noteProgress();
        return result;
      } finally {
        release();
      }
    };
  const methods = Object.fromEntries(
    TAKING.map((name) => [name, bounded(pool[name].bind(pool) as unknown as Take)]),
  );
  return Object.assign(Object.create(pool) as DatabasePool, methods, {
    succeededAt: () => succeededAt,
  });
}

const ASK_EVERY_MS = 10_000;

/** Finds pools whose connections never come back, which no request reports. */
export interface PoolWatch {
  /** For how many milliseconds nothing has succeeded in the pool for which this is longest. */
  silentMs(): number;
  close(): void;
}

/** @param ask runs a query on a pool that nobody else uses at the moment. */
export function watchPools(
  pools: readonly BoundedPool[],
  ask: (pool: BoundedPool) => Promise<unknown>,
): PoolWatch {
  const silentMs = (pool: BoundedPool): number => performance.now() - pool.succeededAt();
  const asked = new Set<BoundedPool>();
  const timer = setInterval(() => {
    for (const pool of pools)
      if (!asked.has(pool) && silentMs(pool) >= ASK_EVERY_MS) {
        asked.add(pool);
        ask(pool)
          .catch(() => {})
          .finally(() => asked.delete(pool));
      }
  }, ASK_EVERY_MS).unref();
  return {
    silentMs: () => Math.max(0, ...pools.map(silentMs)),
    close: () => clearInterval(timer),
  };
}
