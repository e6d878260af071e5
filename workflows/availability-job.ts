import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { HOUSEKEEPING_QUEUE } from './messages/task-queues.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { checkLeads } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Check the next leads',
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per availability check of many leads. Ends after the last lead. */
export async function availabilityJob(input: WakeInput): Promise<string> {
  const loop = createLoop('requested', 'overdue');
  const work = () => checkLeads({ workspaceId: input.workspaceId, jobId: input.subjectId });
  let round: Round;
  do round = await loop.run(work);
  while (await loop.wait(round));
  return loop.isOver ? round.reason : continueAsNew<typeof availabilityJob>(input);
}
