import { continueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { isLongEnough, listen } from './listen.ts';
import { progressQuery } from './messages/queries.ts';
import type { CampaignRound } from './messages/round.ts';
import { archiveCampaign, pauseCampaign, resumeCampaign } from './messages/updates.ts';
import type { WakeInput } from './messages/wake.ts';
import { onOrder, OPERATOR } from './orders.ts';

const step = (summary: string) =>
  proxyActivities<Activities>({
    summary,
    startToCloseTimeout: '5 minutes',
    // A retry continues after the last committed batch, so a worker that dies loses at most one.
    heartbeatTimeout: '20s',
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });
const { enterLeads } = step('Enter the next leads of the list');
const { lookAtCampaign } = step('Count the leads under way, and complete the campaign when there are none');
const { clearCampaign } = step('Cancel and delete what the campaign leaves behind');
const { runCampaign } = step('Enter the next leads of the list, or count those under way');
const ordered = (summary: string) => proxyActivities<Activities>({ ...OPERATOR, summary });

/**
 * One per started campaign. Enters the leads of its list, some thousands at a time, waits until every lead has finished,
 * and clears an archived campaign. The database holds the position of each lead; the pacers of the lines send.
 */
export async function campaign(input: WakeInput): Promise<string> {
  const news = listen(
    'started',
    'leadsAdded',
    'progressDue',
    'leadsDone',
    'paused',
    'resumed',
    'archived',
    'overdue',
  );
  const it = { workspaceId: input.workspaceId, campaignId: input.subjectId };
  let now: CampaignRound | null = null;
  setHandler(
    progressQuery,
    () => ({ ...news.status(), campaignId: it.campaignId, progress: now?.progress ?? null }),
    { description: 'How far the campaign is, at its last look.' },
  );
  const only =
    (action: string, ...statuses: string[]) =>
    () =>
      now && !statuses.includes(now.status) ? `A campaign that is ${now.status} cannot ${action}` : null;
  onOrder(
    pauseCampaign,
    news,
    (order) => ordered('Pause the campaign for an operator').pauseCampaign({ ...order, ...it }),
    {
      description: 'Nothing of it leaves, and every message keeps its place.',
      refusal: only('pause', 'active', 'paused'),
    },
  );
  onOrder(
    resumeCampaign,
    news,
    (order) => ordered('Resume the campaign for an operator').resumeCampaign({ ...order, ...it }),
    {
      description: 'It goes on.',
      refusal: only('resume', 'active', 'paused'),
    },
  );
  onOrder(
    archiveCampaign,
    news,
    (order) => ordered('Archive the campaign for an operator').archiveCampaign({ ...order, ...it }),
    {
      description: 'It ends for good; what has not left is canceled.',
    },
  );
  const goOn = () => continueAsNew<typeof campaign>(input);
  if (!hasNamedSignals()) return formerly(news, () => runCampaign(it), goOn);

  let goesOn: boolean;
  now = await news.after(() => enterLeads(it));
  do {
    news.is(now.status, now.reason);
    while (now.toEnter && !isLongEnough()) now = await news.after(() => enterLeads(it));
    while (now.toClear && !isLongEnough()) now = await news.after(() => clearCampaign(it));
    goesOn = await news.until(now, now.status);
    if (goesOn) now = await news.after(() => lookAtCampaign(it));
  } while (goesOn);
  return news.isOver ? now.reason : goOn();
}
