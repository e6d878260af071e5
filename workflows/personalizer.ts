import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { listen } from './listen.ts';
import { MODEL_QUEUE } from './messages/task-queues.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { writeMessages } = proxyActivities<Activities>({
  taskQueue: MODEL_QUEUE,
  summary: 'Have the model write what falls due',
  // A round works for 45 seconds, and the questions under way when they end may take 120 more.
  startToCloseTimeout: '10 minutes',
  // A worker that died has kept what was written; the model is asked again about the rest.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * One per campaign that wants its messages written for each lead: many in one activity, some minutes before they are
 * due. A message that the model fails at leaves as its template says.
 */
export async function personalizer(input: WakeInput): Promise<string> {
  const news = listen('personalizationsDue', 'overdue');
  const work = () => writeMessages({ workspaceId: input.workspaceId, campaignId: input.subjectId });
  const goOn = () => continueAsNew<typeof personalizer>(input);
  if (!hasNamedSignals()) return formerly(news, work, goOn);

  let round: Round;
  do round = await news.after(work);
  while (await news.until(round));
  return news.isOver ? round.reason : goOn();
}
