import { Registry } from 'prom-client';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { comparesTemporalClock } from './temporal-clock.ts';

const NOW = Date.parse('2026-06-10T12:00:00Z');

/** @returns what is measured after a task that Temporal scheduled so many milliseconds after now. */
function measured(...tasks: { aheadMs: number; isLocal?: boolean }[]) {
  const registry = new Registry();
  const compares = comparesTemporalClock(registry, () => new Date(NOW));
  for (const { aheadMs, isLocal = false } of tasks) {
    const info = { isLocal, currentAttemptScheduledTimestampMs: NOW + aheadMs };
    const { inbound } = compares({ info } as never) as { inbound: Required<ActivityInboundCallsInterceptor> };
    void inbound.execute({ args: [], headers: {} }, async () => null);
  }
  return registry.getMetricsAsJSON().then(([metric]) => metric?.values.map(({ value }) => value));
}

test('a server whose clock is ahead schedules tasks after they start', async () => {
  expect(await measured({ aheadMs: 300_000 })).toEqual([300]);
});

test('a task that has waited for its worker does not make the server seem to be behind', async () => {
  expect(await measured({ aheadMs: -40_000 }, { aheadMs: -20 }, { aheadMs: -9000 })).toEqual([-0.02]);
  expect(await measured({ aheadMs: -300_000 }, { aheadMs: -301_000 })).toEqual([-300]);
});

test('before a task has started, and for local activities, nothing is said', async () => {
  expect(await measured()).toEqual([]);
  expect(await measured({ aheadMs: 300_000, isLocal: true })).toEqual([]);
});
