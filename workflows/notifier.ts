import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { writeNotifications } = proxyActivities<Activities>({
  summary: 'Write the notification emails that are due',
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per workspace. Turns due notifications into emails, grouped by the workspace's preferences. */
export async function notifier(input: WakeInput): Promise<string> {
  const loop = createLoop('notificationsDue', 'overdue');
  const outcome = await loop.repeat(() => writeNotifications({ workspaceId: input.workspaceId }));
  return outcome ?? continueAsNew<typeof notifier>(input);
}
