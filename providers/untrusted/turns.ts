import pLimit, { type LimitFunction } from 'p-limit';

/** Too many jobs of the tenant are waiting. Retryable. */
export class TooMuchToRead extends Error {
  override readonly name = 'TooMuchToRead';
}

/** Limits the concurrency of each tenant, in order of arrival, so that no tenant delays the others. */
export interface Turns {
  /** @throws TooMuchToRead */
  take<T>(tenant: string, work: () => Promise<T>): Promise<T>;
}

export function createTurns({ atOnce, waiting }: { atOnce: number; waiting: number }): Turns {
  const limits = new Map<string, LimitFunction>();
  return {
    async take(tenant, work) {
      const limit = limits.get(tenant) ?? pLimit(atOnce);
      if (limit.pendingCount >= waiting) throw new TooMuchToRead('too much of it waits to be read');
      limits.set(tenant, limit);
      try {
        return await limit(work);
      } finally {
        if (limit.activeCount === 0 && limit.pendingCount === 0) limits.delete(tenant);
      }
    },
  };
}
