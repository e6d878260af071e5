import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { listen } from './listen.ts';
import type { Round } from './messages/round.ts';
import { HOUSEKEEPING_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';

const { eraseContactData } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Erase the next rows and files of the contact',
  startToCloseTimeout: '5 minutes',
  // What is erased stays erased: a worker that died costs at most one chunk.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per contact that is erased: its rows and files in chunks, and once more what was under way meanwhile. */
export async function contactErasure(input: WakeInput): Promise<string> {
  const news = listen('requested', 'overdue');
  const work = () => eraseContactData({ workspaceId: input.workspaceId, erasureId: input.subjectId });
  let round: Round;
  do round = await news.after(work);
  while (await news.until(round));
  return news.isOver ? round.reason : continueAsNew<typeof contactErasure>(input);
}
