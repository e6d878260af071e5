import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { HOUSEKEEPING_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { importLeads } = proxyActivities<Activities>({
  taskQueue: HOUSEKEEPING_QUEUE,
  summary: 'Save the next rows of the file',
  startToCloseTimeout: '5 minutes',
  // It goes on behind the last committed batch, so a worker that died costs at most one.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per CSV file: takes its rows into a list, some seconds of work at a time, and ends with the file. */
export async function leadImport(input: WakeInput): Promise<void> {
  const ended = await workLoop(() =>
    importLeads({ workspaceId: input.workspaceId, importId: input.subjectId }),
  );
  if (!ended) await continueAsNew<typeof leadImport>(input);
}
