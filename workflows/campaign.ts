import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { listen } from './listen.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { runCampaign } = proxyActivities<Activities>({
  summary: 'Enter the next leads of the list, or see how far the campaign is',
  startToCloseTimeout: '5 minutes',
  // Entering goes on from the last committed batch, so a worker that died costs at most one.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * One per running campaign: enters the leads of its list some thousands at a time, and ends when every lead is
 * through. Where each lead is stands in the database; the lines' pacers send.
 */
export async function campaign(input: WakeInput): Promise<string> {
  const news = listen(
    'started',
    'leadsAdded',
    'progressDue',
    'paused',
    'resumed',
    'archived',
    'leadsDone',
    'overdue',
  );
  const work = () => runCampaign({ workspaceId: input.workspaceId, campaignId: input.subjectId });
  const goOn = () => continueAsNew<typeof campaign>(input);
  if (!hasNamedSignals()) return formerly(news, work, goOn);

  let round: Round;
  do round = await news.after(work);
  while (await news.until(round));
  return news.isOver ? round.reason : goOn();
}
