import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { WEBHOOK_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { deliverWebhooks } = proxyActivities<Activities>({
  taskQueue: WEBHOOK_QUEUE,
  summary: 'Deliver events to the webhooks subscribed to them',
  startToCloseTimeout: '3 minutes',
  // A delivery is claimed before it is sent: after a crash it is recorded as interrupted, never sent twice.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per workspace with webhooks: delivers its outbox, so that no tenant waits for another's endpoints. */
export async function webhookDispatcher(input: WakeInput): Promise<void> {
  const ended = await workLoop(() => deliverWebhooks({ workspaceId: input.workspaceId }));
  if (!ended) await continueAsNew<typeof webhookDispatcher>(input);
}
