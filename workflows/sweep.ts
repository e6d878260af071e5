import { patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';

const step = (summary: string) =>
  proxyActivities<Activities>({
    summary,
    startToCloseTimeout: '5 minutes',
    // Without a free slot, the next sweep has to start.
    scheduleToCloseTimeout: '8 minutes',
    // Without it, a sweep whose worker was killed would delay the next ones.
    heartbeatTimeout: '20s',
    retry: { maximumAttempts: 3 },
  });
const { wakeOverdue } = step('Signal the workflows that are overdue');
const { rehomeStranded } = step('Find a line for messages that have none');
const { trim } = step('Delete expired data');

/** Started by operators. Wakes overdue workflows at once, as `housekeeping` does by schedule. */
export async function sweep(): Promise<{ woken: number; rehomed: number }> {
  const woken = await wakeOverdue();
  const rehomed = patched('rehome stranded messages') ? await rehomeStranded() : 0;
  // Sweeps that started before `retention` had its own schedule must keep their steps.
  if (!patched('trimming has a schedule of its own')) await trim();
  return { woken, rehomed };
}
