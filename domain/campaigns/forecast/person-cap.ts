import type { FrequencyCap } from '#domain/sending/person-holds.ts';

const DAY_MS = 86_400_000;

/**
 * The delays of steps that follow each other, as long as the frequency cap makes them for a person who gets nothing else: a step waits
 * until the cap's days have passed since the one that is the cap's messages before it.
 * @param delays in milliseconds, each from the step before.
 */
export function delaysUnderCap(delays: readonly number[], cap: FrequencyCap | null): number[] {
  const times: number[] = [];
  return delays.map((delay, index) => {
    const before = times[index - 1] ?? 0;
    const counted = cap === null ? undefined : times[index - cap.messages];
    const allowed = cap === null || counted === undefined ? -Infinity : counted + cap.days * DAY_MS;
    const at = Math.max(before + delay, allowed);
    times.push(at);
    return at - before;
  });
}
