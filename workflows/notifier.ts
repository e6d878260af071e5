import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { writeNotifications } = proxyActivities<Activities>({
  summary: 'Write the notification emails that are due',
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per workspace. Turns due notifications into emails, grouped by the workspace's preferences. */
export async function notifier(input: WakeInput): Promise<string> {
  const loop = createLoop('notificationsDue', 'overdue');
  const work = () => writeNotifications({ workspaceId: input.workspaceId });
  let round: Round;
  do round = await loop.run(work);
  while (await loop.wait(round));
  return loop.isOver ? round.reason : continueAsNew<typeof notifier>(input);
}
