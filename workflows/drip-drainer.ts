import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { drainDrips } = proxyActivities<Activities>({
  summary: 'Turn buffered drips into scheduled messages',
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/**
 * One per workspace whose bulk intake takes long, or that no process takes: worker processes take the rounds of the others. Turns buffered
 * drips into messages, in batches.
 */
export async function dripDrainer(input: WakeInput): Promise<string> {
  const loop = createLoop('dripsBuffered', 'overdue');
  const outcome = await loop.repeat(() => drainDrips({ workspaceId: input.workspaceId }));
  return outcome ?? continueAsNew<typeof dripDrainer>(input);
}
