import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { drainDrips } = proxyActivities<Activities>({
  summary: 'Turn buffered drips into scheduled messages',
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per workspace that uses bulk intake: turns what was accepted into messages, in batches. */
export async function dripDrainer(input: WakeInput): Promise<void> {
  const ended = await workLoop(() => drainDrips({ workspaceId: input.workspaceId }));
  if (!ended) await continueAsNew<typeof dripDrainer>(input);
}
