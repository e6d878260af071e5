import { patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';

const { wakeOverdue, rehomeStranded, trim } = proxyActivities<Activities>({
  startToCloseTimeout: '5 minutes',
  // A sweep whose worker was killed would hold up the next ones.
  heartbeatTimeout: '20s',
  retry: { maximumAttempts: 3 },
});

/** For operators, at once: finds due work that nobody was told about after a crash. `housekeeping` does so by schedule. */
export async function sweep(): Promise<{ woken: number; rehomed: number }> {
  const woken = await wakeOverdue();
  const rehomed = patched('rehome stranded messages') ? await rehomeStranded() : 0;
  // Sweeps that began before `retention` had its own schedule end as they began.
  if (!patched('trimming has a schedule of its own')) await trim();
  return { woken, rehomed };
}
