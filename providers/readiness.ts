import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';

const TEMPORAL_TIMEOUT_MS = 2000;

/** A readiness check: rejects if what it checks does not work. */
export type Check = () => Promise<unknown>;

export interface Readiness {
  ready: boolean;
  /** The body of the response to `/readyz`. */
  body: {
    status: 'ready' | 'degraded' | 'not ready';
    checks: Record<string, 'ok' | 'failed'>;
    /** Nobody owns a workspace yet. */
    setup?: 'needed';
  };
}

/**
 * Runs all checks concurrently and logs the failed ones. One that does not end in time has failed.
 * @param checks of what every request needs.
 * @param others of parts without which the process still does most of its work: it stays ready, but degraded.
 */
export async function checkReadiness(
  checks: Record<string, Check>,
  logger: Logger,
  others: Record<string, Check> = {},
): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries({ ...checks, ...others }).map(async ([name, check]) => {
      try {
        await inTime(check(), REQUIRED_TIMEOUT_MS);
        return [name, 'ok'] as const;
      } catch (error) {
        logger.warn({ check: name, error }, 'not ready');
        return [name, 'failed'] as const;
      }
    }),
  );
  const failed = results.flatMap(([name, result]) => (result === 'ok' ? [] : [name]));
  const ready = !failed.some((name) => Object.hasOwn(checks, name));
  const status = !ready ? 'not ready' : failed.length > 0 ? 'degraded' : 'ready';
  return { ready, body: { status, checks: Object.fromEntries(results) } };
}

/** Scrapes within this time get the same results. */
const SCRAPED_MS = 5000;

/**
 * Sets `linepace_ready` by what is checked, so that an alert says what no process can do without.
 * @param checks as for `/readyz`. One that does not end in time has failed.
 */
export function observeReadiness(checks: Record<string, Check>, registry: Registry): void {
  let askedAt = -Infinity;
  let asked: Promise<unknown> | null = null;
  new Gauge({
    name: 'linepace_ready',
    help: 'Whether what the process needs works: 1 or 0',
    labelNames: ['check'] as const,
    registers: [registry],
    async collect() {
      if (performance.now() - askedAt >= SCRAPED_MS) {
        askedAt = performance.now();
        asked = Promise.all(
          Object.entries(checks).map(async ([name, check]) => {
            const works = await inTime(check(), REQUIRED_TIMEOUT_MS).then(
              () => 1,
              () => 0,
            );
            this.set({ check: name }, works);
          }),
        );
      }
      await asked;
    },
  });
}

/** How long a check of an outside part counts, because each one costs requests there. */
const KEPT_MS = 30_000;
const FAILURE_KEPT_MS = 5000;
const PART_TIMEOUT_MS = 2000;
/** Whoever probes or scrapes waits longer, and a server whose host has vanished answers nothing. */
export const REQUIRED_TIMEOUT_MS = 4000;

/** A check of an outside part that is slow or costs money: its last result counts for a while. @throws also if it takes too long. */
export function cachedCheck(check: Check): Check {
  let last: { result: Promise<unknown>; until: number } | null = null;
  return async () => {
    if (!last || performance.now() > last.until) {
      const current = { result: check(), until: Infinity };
      last = current;
      current.result.then(
        () => (current.until = performance.now() + KEPT_MS),
        () => (current.until = performance.now() + FAILURE_KEPT_MS),
      );
    }
    await inTime(last.result, PART_TIMEOUT_MS);
  };
}

/** @throws also if the work has not ended in time. */
export async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it does not respond in time')), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** @throws if Temporal does not respond in time. */
export const checkTemporal = (temporal: Client['connection']): Promise<unknown> =>
  temporal.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, () => temporal.workflowService.getSystemInfo({}));

/** A process in which nothing has succeeded for this time is restarted: its connections may never come back. */
const STUCK_MS = 60_000;

/** Whether nothing has succeeded on the connections of a pool for a minute. */
export const isStuck = ({ watch }: { watch: { silentMs(): number } }): boolean => watch.silentMs() > STUCK_MS;
