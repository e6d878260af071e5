import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { lineWork } from './line-work.ts';
import { CARRIER_PATIENCE, lineQueue } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';

const readingAt = (carrier: string | null) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Read what came into the inbox of this line',
    scheduleToStartTimeout: CARRIER_PATIENCE,
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20s',
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });

/** One per line whose provider has to be asked for what came in: reads its inbox, and ends when there is none. */
export async function mailboxReader(input: WakeInput): Promise<void> {
  const next = await lineWork(input, ({ workspaceId, carrier }) =>
    readingAt(carrier).readInbox({ workspaceId, lineId: input.subjectId }),
  );
  if (next) await continueAsNew<typeof mailboxReader>(next);
}
