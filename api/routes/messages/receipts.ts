import { type Delivered, type LineEvent } from '#db/commands/inbox/carrier-events.ts';
import { receiveDelivered } from '#db/commands/inbox/carrier-reports.ts';
import type { Pools } from '#db/connection/pools.ts';
import { type Batches, createBatches } from '#domain/base/batches.ts';
import { forMany } from '#providers/log-context.ts';

/** A batch costs eight messages to the database, whatever its size. */
const MIN_CONCURRENT_SIZE = 16;

/**
 * Stores simultaneous receipts together, grouped by workspace. Alone, a sent message took 1.4 times the processor time
 * (docs/benchmarks.md, Second ways).
 */
export type Receipts = Batches<LineEvent<Delivered>>;

export const createReceipts = (pools: Pools): Receipts =>
  createBatches(
    forMany((workspaceId, receipts) => receiveDelivered(pools, workspaceId, receipts)),
    { minConcurrentSize: MIN_CONCURRENT_SIZE },
  );
