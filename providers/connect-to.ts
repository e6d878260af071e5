import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Longer than a server takes to start, also after a crash. Then the process ends, and whoever runs it starts it again. */
const PATIENCE_MS = 60_000;
const EVERY_MS = 1000;
const LOG_EVERY_MS = 10_000;

/** A server without which a process cannot start. */
export interface NeededPart {
  /** With its address, for the log. */
  title: string;
  /** What says that it does not answer. Null: the error says something else, or that the server refuses, which waiting does not change. */
  whyAway(error: unknown): string | null;
}

/**
 * Connects as soon as the part answers, because containers start in any order and servers are restarted.
 * @throws what `connect` throws, if that is something else, or after a minute.
 */
export async function connectTo<T>(
  { title, whyAway }: NeededPart,
  connect: () => Promise<T>,
  logger: Pick<Logger, 'info' | 'warn'>,
): Promise<T> {
  const since = performance.now();
  let toldAt = -Infinity;
  for (;;)
    try {
      const connection = await connect();
      if (toldAt !== -Infinity) logger.info(`${title} answers`);
      return connection;
    } catch (error) {
      const reason = whyAway(error);
      const waited = performance.now() - since;
      if (reason === null || waited >= PATIENCE_MS) throw error;
      if (waited - toldAt >= LOG_EVERY_MS) {
        const seconds = Math.ceil((PATIENCE_MS - waited) / 1000);
        logger.warn(`${title} does not answer (${reason}); trying for another ${seconds} s`);
        toldAt = waited;
      }
      await pause(EVERY_MS);
    }
}
