import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

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
export async function campaign(input: WakeInput): Promise<void> {
  const ended = await workLoop(() =>
    runCampaign({ workspaceId: input.workspaceId, campaignId: input.subjectId }),
  );
  if (!ended) await continueAsNew<typeof campaign>(input);
}
