import { patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';

const { wakeOverdue, rehomeStranded, trim } = proxyActivities<Activities>({
  startToCloseTimeout: '5 minutes',
  retry: { maximumAttempts: 3 },
});

/** By schedule: finds due work that nobody was told about after a crash, and trims what has aged. */
export async function sweep(): Promise<{ woken: number; rehomed: number; trimmed: number }> {
  const woken = await wakeOverdue();
  const rehomed = patched('rehome stranded messages') ? await rehomeStranded() : 0;
  const trimmed = await trim();
  return { woken, rehomed, trimmed };
}
