import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { WEBHOOK_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { deliverWebhooks } = proxyActivities<Activities>({
  taskQueue: WEBHOOK_QUEUE,
  summary: 'Deliver events to the webhooks subscribed to them',
  startToCloseTimeout: '3 minutes',
  // A delivery is claimed before it is sent; after a crash it counts as interrupted and is not sent again.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/**
 * One per workspace whose deliveries take long, or that no process takes: worker processes take the rounds of the others. So no tenant
 * waits for another's endpoints. Delivers the outbox.
 */
export async function webhookDispatcher(input: WakeInput): Promise<string> {
  const loop = createLoop('deliveriesDue', 'overdue');
  const outcome = await loop.repeat(() => deliverWebhooks({ workspaceId: input.workspaceId }));
  return outcome ?? continueAsNew<typeof webhookDispatcher>(input);
}
