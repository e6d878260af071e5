import { setTimeout as pause } from 'node:timers/promises';

/** Does `work` for every item, at most `width` at a time, in order of starting. */
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
 * Asks until the answer is yes; a question that fails is asked again, since what it asks may just be broken on purpose.
 * @throws when it is not in time, with what was last thrown as the cause.
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
