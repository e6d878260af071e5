import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { listen } from './listen.ts';
import { MODEL_QUEUE } from './messages/task-queues.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { writeMessages } = proxyActivities<Activities>({
  taskQueue: MODEL_QUEUE,
  summary: 'Have the model write the due messages',
  // A round lasts 45 seconds, and model calls in progress at its end may take 120 more.
  startToCloseTimeout: '10 minutes',
  // A worker that dies has stored what was written; the model is called again for the rest.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * One per campaign whose messages are written for each lead. Writes many messages in one activity, some minutes before
 * they are due. If the model fails, the message is sent as its template.
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
