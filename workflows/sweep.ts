import { patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { MANY_OVERDUE } from './protocol/round.ts';

const step = (summary: string) =>
  proxyActivities<Activities>({
    summary,
    startToCloseTimeout: '5 minutes',
    // If no slot is free, the next sweep must be able to start.
    scheduleToCloseTimeout: '8 minutes',
    // Without it, a sweep whose worker was killed would delay the next ones.
    heartbeatTimeout: '20s',
    retry: { maximumAttempts: 3 },
  });
const { wakeOverdue } = step('Signal the workflows that are overdue');
const { rehomeStranded } = step('Find a line for messages that have none');

/** Started by operators. Wakes overdue workflows now, as `housekeeping` does on its schedule. */
export async function sweep(): Promise<{ woken: number; rehomed: number }> {
  let woken = 0;
  let found: number;
  do {
    found = await wakeOverdue();
    woken += found;
  } while (found >= MANY_OVERDUE && patched('sweep-goes-on'));
  return { woken, rehomed: await rehomeStranded() };
}
