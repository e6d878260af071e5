import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { listen } from './listen.ts';
import { HOUSEKEEPING_QUEUE } from './messages/task-queues.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { handOver } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Give the next messages to other lines',
  startToCloseTimeout: '5 minutes',
  // What is given away stays so: a worker that died costs at most one chunk.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * One per line and workspace, when a line that left it or stopped sending had more waiting than one transaction moves:
 * gives it to other lines in chunks, the next to leave first, and ends with the last.
 */
export async function lineHandover(input: WakeInput): Promise<string> {
  const news = listen('messagesDue', 'overdue');
  let round: Round;
  do round = await news.after(() => handOver(input));
  while (await news.until(round));
  return news.isOver ? round.reason : continueAsNew<typeof lineHandover>(input);
}
