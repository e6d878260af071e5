import { continueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop, isHistoryLong } from './work-loop.ts';
import { progressQuery } from './protocol/queries.ts';
import type { CampaignRound } from './protocol/round.ts';
import { archiveCampaign, pauseCampaign, resumeCampaign } from './protocol/updates.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { decidesBy, onOrder, OPERATOR, SIGNALED } from './orders.ts';
import { UNTIL_DONE } from './retries.ts';

const step = (summary: string) =>
  proxyActivities<Activities>({
    summary,
    startToCloseTimeout: '5 minutes',
    // A retry continues after the last committed batch, so a crash repeats at most one.
    heartbeatTimeout: '20s',
    retry: UNTIL_DONE,
  });
const { enterLeads } = step('Enter the next leads of the list');
const { lookAtCampaign } = step(
  'Let leads continue that are due, and complete the campaign when none is under way',
);
const { clearCampaign } = step('Cancel and delete what the campaign leaves behind');
const ordered = (summary: string) => proxyActivities<Activities>({ ...OPERATOR, summary });
const { pauseCampaign: pause } = ordered('Pause the campaign for an operator');
const { resumeCampaign: resume } = ordered('Resume the campaign for an operator');
const { archiveCampaign: archive } = ordered('Archive the campaign for an operator');
const signaled = proxyActivities<Activities>({ ...SIGNALED, summary: 'Carry out the signal of an operator' });

/**
 * One per started campaign. Enters the leads of its list, some thousands at a time, waits until every lead has finished,
 * and clears an archived campaign. The database holds the position of each lead; the pacers of the lines send.
 */
export async function campaign(input: WakeInput): Promise<string> {
  const ids = { workspaceId: input.workspaceId, campaignId: input.subjectId };
  const loop = createLoop(
    decidesBy('started', (order) => signaled.startCampaign({ ...order, ...ids })),
    'leadsAdded',
    'progressDue',
    'leadsDone',
    decidesBy('paused', (order) => signaled.pauseCampaign({ ...order, ...ids })),
    decidesBy('resumed', (order) => signaled.resumeCampaign({ ...order, ...ids })),
    decidesBy('archived', (order) => signaled.archiveCampaign({ ...order, ...ids })),
    'overdue',
  );
  let now: CampaignRound | null = null;
  setHandler(
    progressQuery,
    () => ({ ...loop.status(), campaignId: ids.campaignId, progress: now?.progress ?? null }),
    { description: 'The progress of the campaign in its last round.' },
  );
  const allowedIn =
    (action: string, ...statuses: string[]) =>
    () =>
      now && !statuses.includes(now.status) ? `A campaign that is ${now.status} cannot ${action}` : null;
  onOrder(pauseCampaign, loop, (order) => pause({ ...order, ...ids }), {
    description: 'Stops sending. Messages keep their place in the queue.',
    refusal: allowedIn('pause', 'active', 'paused'),
  });
  onOrder(resumeCampaign, loop, (order) => resume({ ...order, ...ids }), {
    description: 'Continues sending.',
    refusal: allowedIn('resume', 'active', 'paused'),
  });
  onOrder(archiveCampaign, loop, (order) => archive({ ...order, ...ids }), {
    description: 'Ends the campaign permanently and cancels unsent messages.',
  });

  let continues: boolean;
  now = await loop.run(() => enterLeads(ids));
  do {
    loop.setStatus(now.status, now.reason);
    while (now.toEnter && !isHistoryLong()) now = await loop.run(() => enterLeads(ids));
    while (now.toClear && !isHistoryLong()) now = await loop.run(() => clearCampaign(ids));
    continues = await loop.wait(now, now.status);
    if (continues) now = await loop.run(() => lookAtCampaign(ids));
  } while (continues);
  return loop.isOver ? now.reason : continueAsNew<typeof campaign>(input);
}
