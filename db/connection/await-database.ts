import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import pg from 'pg';
import { connected } from './connected.ts';

/** Longer than PostgreSQL takes to start after a crash, unless it has much to recover: then whoever runs the process starts it again. */
const PATIENCE_MS = 60_000;
const EVERY_MS = 1000;
const LOG_EVERY_MS = 10_000;
const CONNECT_MS = 5000;

/** Too many connections; the server starts or stops. */
const NOT_YET = new Set(['53300', '57P01', '57P02', '57P03']);
const UNREACHABLE = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * Waits at the start of a process until PostgreSQL answers, because containers start in any order and servers are restarted.
 * A server that refuses the login is no reason to wait: what connects next reports that. The same after a minute.
 */
export async function awaitDatabase(
  url: string,
  logger: Pick<Logger, 'info' | 'warn'>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const since = performance.now();
  let toldAt = -Infinity;
  for (;;) {
    const reason = await whyAway(url);
    const waited = performance.now() - since;
    if (reason === null) {
      if (toldAt !== -Infinity) logger.info('PostgreSQL answers');
      return;
    }
    if (waited >= patienceMs) return;
    if (waited - toldAt >= LOG_EVERY_MS) {
      const { host } = new URL(url);
      const seconds = Math.ceil((patienceMs - waited) / 1000);
      logger.warn(`PostgreSQL at ${host} does not answer (${reason}); trying for another ${seconds} s`);
      toldAt = waited;
    }
    await pause(EVERY_MS);
  }
}

/** Null: it answers, if only to refuse. */
async function whyAway(url: string): Promise<string | null> {
  try {
    await connected(url, () => Promise.resolve(), { connectionTimeoutMillis: CONNECT_MS });
    return null;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const code = 'code' in error ? String(error.code) : null;
    if (error instanceof pg.DatabaseError) return NOT_YET.has(code ?? '') ? error.message : null;
    // The driver gives its own errors no code: a connection that was not made in time, or ended while it was made.
    return code === null || UNREACHABLE.has(code) ? error.message || (code ?? '') : null;
  }
}
