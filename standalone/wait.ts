import { setTimeout as delay } from 'node:timers/promises';

/**
 * Polls a condition until it is true.
 * @returns false if it is still false after `timeoutMs`.
 */
export async function becomesTrue(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(50);
  }
  return true;
}
