import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks until the answer is yes.
 * @param timeoutMs milliseconds, after which it gives up.
 * @returns whether it became true in time.
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
