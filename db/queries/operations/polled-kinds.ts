import { polledKinds } from './polled-rounds.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';

const EVERY_MS = 10_000;

/** Knows for which kinds of rounds some worker process looks. */
export interface PolledKinds {
  has(kind: string): boolean;
  /** Begins to look, now and every ten seconds. While the database does not respond, no kind counts as polled. */
  watch(pools: Pools): void;
  close(): void;
}

export function createPolledKinds(): PolledKinds {
  let kinds: ReadonlySet<string> = new Set();
  let timer: NodeJS.Timeout | undefined;
  return {
    has: (kind) => kinds.has(kind),
    watch(pools) {
      const look = async (): Promise<void> => {
        kinds = await polledKinds(systemDb(pools)).catch(() => new Set<string>());
      };
      void look();
      timer = setInterval(() => void look(), EVERY_MS).unref();
    },
    close: () => clearInterval(timer),
  };
}
