import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';

const { probeLines } = proxyActivities<Activities>({
  summary: 'Probe the lines whose last probe is the longest ago',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  retry: { maximumAttempts: 2 },
});

/** By schedule: probes lines, so that a line which is down stops sending and one that recovered goes on. */
export async function lineHealth(): Promise<{ probed: number }> {
  return { probed: await probeLines() };
}
