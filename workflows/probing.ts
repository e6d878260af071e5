import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_QUEUE_TIMEOUT, carrierQueue } from './protocol/task-queues.ts';

export const probing = (carrier: string) =>
  proxyActivities<Activities>({
    taskQueue: carrierQueue(carrier),
    summary: `Probe the lines of ${carrier}, the longest unprobed first`,
    scheduleToStartTimeout: CARRIER_QUEUE_TIMEOUT,
    // A probe takes at most a minute. A probe that hangs must not delay the run, or the next probes, for long.
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: '3 minutes',
    heartbeatTimeout: '30s',
    retry: { maximumAttempts: 2 },
  });
