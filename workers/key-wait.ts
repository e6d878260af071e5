import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { checkKeys, type ProcessKeys } from '#db/connection/key-check.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';

const KEYS_AGAIN_MS = 10_000;

/** Whether the process can read what is stored. Otherwise it says so in the log. */
export async function hasKeys(pools: Pools, keys: ProcessKeys, logger: Logger): Promise<boolean> {
  try {
    await checkKeys(systemDb(pools), keys);
    return true;
  } catch (error) {
    logger.fatal({ error }, 'the worker takes no tasks until its keys can read what is stored');
    return false;
  }
}

/** Waits until the keys are right, which somebody may have rotated. @returns false if it was aborted before. */
export async function awaitKeys(
  pools: Pools,
  keys: ProcessKeys,
  logger: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    await pause(KEYS_AGAIN_MS, undefined, { signal }).catch(() => {});
    if (!signal.aborted && (await hasKeys(pools, keys, logger))) return true;
  }
  return false;
}
