import { continueAsNew, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { carrierQueue } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { findCarrier } = proxyLocalActivities<Activities>({ startToCloseTimeout: '10s' });

/**
 * One per line: sends what the line may send, and sleeps until it may send again. What it may is decided in the
 * database, under the line's lock; the workflow holds the line's id and nothing else, so it can be thrown away.
 */
export async function linePacer({ workspaceId, subjectId: lineId }: WakeInput): Promise<void> {
  const carrier = await findCarrier({ workspaceId, lineId });
  const { sendDue } = proxyActivities<Activities>({
    taskQueue: carrierQueue(carrier),
    summary: 'Send what this line may send now',
    // A round works for 45 seconds at most, and one call to a carrier may be under way when they end.
    startToCloseTimeout: '5 minutes',
    // A worker that died is noticed by this; the attempts it left open are reconciled by the next round.
    heartbeatTimeout: '20s',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });
  await workLoop(() => sendDue({ workspaceId, lineId }));
  await continueAsNew<typeof linePacer>({ workspaceId, subjectId: lineId });
}
