import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';

const { wakeOverdue, trim } = proxyActivities<Activities>({
  startToCloseTimeout: '5 minutes',
  retry: { maximumAttempts: 3 },
});

/** By schedule: finds due work that nobody was told about after a crash, and trims what has aged. */
export async function sweep(): Promise<{ woken: number; trimmed: number }> {
  const woken = await wakeOverdue();
  const trimmed = await trim();
  return { woken, trimmed };
}
