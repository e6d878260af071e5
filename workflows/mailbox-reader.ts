import { continueAsNew, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { carrierQueue } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { findCarrier } = proxyLocalActivities<Activities>({ startToCloseTimeout: '10s' });

/** One per line whose provider has to be asked for what came in: reads its inbox, and ends when there is none. */
export async function mailboxReader({ workspaceId, subjectId: lineId }: WakeInput): Promise<void> {
  const carrier = await findCarrier({ workspaceId, lineId });
  const { readInbox } = proxyActivities<Activities>({
    taskQueue: carrierQueue(carrier),
    summary: 'Read what came into the inbox of this line',
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20s',
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });
  if (await workLoop(() => readInbox({ workspaceId, lineId }))) return;
  await continueAsNew<typeof mailboxReader>({ workspaceId, subjectId: lineId });
}
