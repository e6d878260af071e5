import { ActivityFailure, patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_PATIENCE, carrierQueue } from './messages/task-queues.ts';

const probing = {
  summary: 'Probe the lines whose last probe is the longest ago',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  retry: { maximumAttempts: 2 },
} as const;
const { carriersToProbe } = proxyActivities<Activities>({
  summary: 'Find the carriers whose lines are to be probed',
  startToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 3 },
});

/** For runs of the version before, which had a schedule for it: probes lines, so that a line which is down stops sending and one that recovered goes on. */
export async function lineHealth(): Promise<{ probed: number }> {
  if (!patched('carriers are probed side by side')) {
    return { probed: await proxyActivities<Activities>(probing).probeLines({}) };
  }
  const carriers = await carriersToProbe();
  const counts = await Promise.all(carriers.map(probe));
  return { probed: counts.reduce((sum, count) => sum + count, 0) };
}

/** A carrier that hangs, or that no worker serves, keeps no other from being probed. */
async function probe(carrier: string): Promise<number> {
  const { probeLines } = proxyActivities<Activities>({
    ...probing,
    taskQueue: carrierQueue(carrier),
    scheduleToStartTimeout: CARRIER_PATIENCE,
  });
  return probeLines({ carrier }).catch((error: unknown) => {
    if (error instanceof ActivityFailure) return 0;
    throw error;
  });
}
