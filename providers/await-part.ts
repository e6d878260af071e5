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
  /** Null: it answers, if only to refuse, which is no reason to wait: what connects next reports that. */
  whyAway(): Promise<string | null>;
}

/** Waits until it answers, because containers start in any order and servers are restarted. Gives up after a minute without a word. */
export async function awaitPart(
  { title, whyAway }: NeededPart,
  logger: Pick<Logger, 'info' | 'warn'>,
): Promise<void> {
  const since = performance.now();
  let toldAt = -Infinity;
  for (;;) {
    const reason = await whyAway();
    const waited = performance.now() - since;
    if (reason === null) {
      if (toldAt !== -Infinity) logger.info(`${title} answers`);
      return;
    }
    if (waited >= PATIENCE_MS) return;
    if (waited - toldAt >= LOG_EVERY_MS) {
      const seconds = Math.ceil((PATIENCE_MS - waited) / 1000);
      logger.warn(`${title} does not answer (${reason}); trying for another ${seconds} s`);
      toldAt = waited;
    }
    await pause(EVERY_MS);
  }
}
