import { setTimeout as pause } from 'node:timers/promises';

/** Runs `work` for every item in order, at most `width` at a time. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
    }),
  );
}

/**
 * Polls until `condition` is true. A condition that throws is polled again, since outages may be on purpose.
 * @throws after the timeout, with the last error as the cause.
 */
export async function until(condition: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    let cause: unknown;
    try {
      if (await condition()) return;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > end) throw new Error(`not within ${timeoutMs / 1000} s`, { cause });
    await pause(200);
  }
}
