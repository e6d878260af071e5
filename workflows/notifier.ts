import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { writeNotifications } = proxyActivities<Activities>({
  summary: 'Write the notification emails that are due',
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per workspace: turns what is due to be told into emails, gathered as its preferences say. */
export async function notifier(input: WakeInput): Promise<void> {
  const ended = await workLoop(() => writeNotifications({ workspaceId: input.workspaceId }));
  if (!ended) await continueAsNew<typeof notifier>(input);
}
