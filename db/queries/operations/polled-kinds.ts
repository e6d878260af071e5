import { polledKinds } from './due-rounds.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';

const EVERY_MS = 10_000;

/** Knows the kinds of rounds for which some worker process polls. */
export interface PolledKinds {
  /** Whether one did at the last look. */
  has(kind: string): boolean;
  /** Looks now: a process may have begun since. While the database does not respond, no kind counts as polled. */
  look(kind: string): Promise<boolean>;
  /** Begins to look, now and every ten seconds. */
  watch(pools: Pools): void;
  close(): void;
}

export function createPolledKinds(): PolledKinds {
  let kinds: ReadonlySet<string> = new Set();
  let pools: Pools | undefined;
  let looking: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  /** Callers at the same time share a query. */
  async function look(): Promise<void> {
    if (!pools) return;
    looking ??= polledKinds(systemDb(pools))
      .catch(() => new Set<string>())
      .then((found) => void (kinds = found))
      .finally(() => (looking = null));
    await looking;
  }

  return {
    has: (kind) => kinds.has(kind),
    async look(kind) {
      await look();
      return kinds.has(kind);
    },
    watch(watched) {
      pools = watched;
      void look();
      timer = setInterval(() => void look(), EVERY_MS).unref();
    },
    close: () => clearInterval(timer),
  };
}
