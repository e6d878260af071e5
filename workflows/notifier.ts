import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { listen } from './listen.ts';
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
  const news = listen('notificationsDue', 'overdue');
  const work = () => writeNotifications({ workspaceId: input.workspaceId });
  const goOn = () => continueAsNew<typeof notifier>(input);
  if (!hasNamedSignals()) return formerly(news, work, goOn);

  let round: Round;
  do round = await news.after(work);
  while (await news.until(round));
  return news.isOver ? round.reason : goOn();
}
