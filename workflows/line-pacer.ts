import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { lineWork } from './line-work.ts';
import { CARRIER_PATIENCE, lineQueue } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';

const sendingAt = (carrier: string | null) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Send what this line may send now',
    scheduleToStartTimeout: CARRIER_PATIENCE,
    // A round works for 45 seconds at most, and one call to a carrier may be under way when they end.
    startToCloseTimeout: '5 minutes',
    // A worker that died is noticed by this; the attempts it left open are reconciled by the next round.
    heartbeatTimeout: '20s',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });

/**
 * One per line: sends what the line may send, and sleeps until it may send again. What it may is decided in the
 * database, under the line's lock; the workflow holds the line's id and nothing else, so it can be thrown away.
 */
export async function linePacer(input: WakeInput): Promise<void> {
  const next = await lineWork(input, ({ workspaceId, carrier }) =>
    sendingAt(carrier).sendDue({ workspaceId, lineId: input.subjectId }),
  );
  if (next) await continueAsNew<typeof linePacer>(next);
}
