import { ActivityFailure, patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_QUEUE_TIMEOUT, carrierQueue } from './messages/task-queues.ts';

const probing = {
  summary: 'Probe the longest unprobed lines',
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '20 minutes',
  heartbeatTimeout: '30s',
  retry: { maximumAttempts: 2 },
} as const;
const { carriersToProbe } = proxyActivities<Activities>({
  summary: 'Find the carriers with lines to probe',
  startToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 3 },
});

/** For runs of the previous version, which probed lines by a schedule of its own; `housekeeping` does it now. */
export async function lineHealth(): Promise<{ probed: number }> {
  if (!patched('carriers are probed side by side')) {
    return { probed: await proxyActivities<Activities>(probing).probeLines({}) };
  }
  const carriers = await carriersToProbe();
  const counts = await Promise.all(carriers.map(probe));
  return { probed: counts.reduce((sum, count) => sum + count, 0) };
}

/** A carrier that hangs, or that no worker serves, does not prevent probes of the others. */
async function probe(carrier: string): Promise<number> {
  const { probeLines } = proxyActivities<Activities>({
    ...probing,
    taskQueue: carrierQueue(carrier),
    scheduleToStartTimeout: CARRIER_QUEUE_TIMEOUT,
  });
  return probeLines({ carrier }).catch((error: unknown) => {
    if (error instanceof ActivityFailure) return 0;
    throw error;
  });
}
