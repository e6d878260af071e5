import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { listen } from './listen.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { drainDrips } = proxyActivities<Activities>({
  summary: 'Turn buffered drips into scheduled messages',
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per workspace that uses bulk intake. Turns buffered drips into messages, in batches. */
export async function dripDrainer(input: WakeInput): Promise<string> {
  const news = listen('dripsBuffered', 'overdue');
  const work = () => drainDrips({ workspaceId: input.workspaceId });
  const goOn = () => continueAsNew<typeof dripDrainer>(input);
  if (!hasNamedSignals()) return formerly(news, work, goOn);

  let round: Round;
  do round = await news.after(work);
  while (await news.until(round));
  return news.isOver ? round.reason : goOn();
}
