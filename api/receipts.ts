import { type Delivered, type LineEvent } from '#db/commands/inbound/carrier-events.ts';
import { receiveDelivered } from '#db/commands/inbound/carrier-reports.ts';
import type { Pools } from '#db/pools.ts';
import { type Batches, createBatches } from '#domain/batches.ts';
import { forMany } from '#providers/log-context.ts';

/** In a larger batch, the first would wait for the last. */
const MAX_TOGETHER = 64;
/** While one batch waits for a lock, the workspace's other batches continue. */
const BATCHES_AT_ONCE = 2;
/** A batch costs eight messages to the database, whatever its size. */
const MIN_CONCURRENT_SIZE = 16;

/** Stores simultaneous receipts together, grouped by workspace. */
export type Receipts = Batches<LineEvent<Delivered>>;

export const createReceipts = (pools: Pools): Receipts =>
  createBatches(
    forMany((workspaceId, receipts) => receiveDelivered(pools, workspaceId, receipts)),
    {
      maxSize: MAX_TOGETHER,
      concurrency: BATCHES_AT_ONCE,
      minConcurrentSize: MIN_CONCURRENT_SIZE,
    },
  );
