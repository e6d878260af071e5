import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { Gauge, type Registry } from 'prom-client';

/** Of the tasks of this time and the one before, the one that has waited least for its worker says what Temporal's clock shows. */
const COMPARED_MS = 15_000;

/**
 * Measures how far the clock of Temporal's server is ahead of PostgreSQL's: how long before it was scheduled a task seems to start. A task
 * that waits for a worker makes the server seem to be behind, so of several tasks the one counts that makes it seem least so.
 * @param now PostgreSQL's time.
 */
export function comparesTemporalClock(registry: Registry, now: () => Date): ActivityInterceptorsFactory {
  let since = -Infinity;
  let aheadMs = -Infinity;
  let aheadBefore = -Infinity;
  new Gauge({
    name: 'linepace_temporal_clock_offset_seconds',
    help: "How far the clock of Temporal's server is ahead of PostgreSQL's; absent until a task has started",
    registers: [registry],
    collect() {
      if (since === -Infinity) this.remove();
      else this.set(Math.max(aheadMs, aheadBefore) / 1000);
    },
  });
  function compare(ms: number): void {
    if (performance.now() - since >= COMPARED_MS) {
      since = performance.now();
      aheadBefore = aheadMs;
      aheadMs = ms;
    } else aheadMs = Math.max(aheadMs, ms);
  }
  return ({ info: { isLocal, currentAttemptScheduledTimestampMs } }) => ({
    inbound: {
      execute(input, next) {
        // Local activities are scheduled by this process.
        if (!isLocal) compare(currentAttemptScheduledTimestampMs - now().getTime());
        return next(input);
      },
    },
  });
}
