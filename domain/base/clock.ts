/** The time at which `performance.now()` was 0, in milliseconds since the epoch; null: not set yet. */
let origin: number | null = null;

/** How far the clock of the current work's workspace is ahead, in milliseconds (`db/connection/workspace-clock.ts`). */
let ahead = (): number => 0;

/**
 * PostgreSQL's time (`db/connection/clock.ts`), the same in all processes, so that deadlines hold even if the clock of a
 * machine is wrong. Until it is known, the time of this machine.
 */
export const realTime = (): Date => new Date(origin === null ? Date.now() : origin + performance.now());

/**
 * The time by which the rules of a workspace decide: caps, gaps, windows, delays. It is the real time, except in test mode,
 * where callers move it forward.
 */
export const currentTime = (): Date => new Date(realTime().getTime() + ahead());

/** @param ms negative for a time in the past. */
export const fromNow = (ms: number): Date => new Date(currentTime().getTime() + ms);

/** Like `fromNow`, in real time, for ids and partitions. */
export const realFromNow = (ms: number): Date => new Date(realTime().getTime() + ms);

/** The real time at which the current workspace's clock, as it is now, shows `at`. */
export const toRealTime = (at: Date): Date => new Date(at.getTime() - ahead());

/** Sets the function that returns how far the clock of the current work's workspace is ahead. */
export function setAhead(read: () => number): void {
  ahead = read;
}

/** How many seconds the clock of this machine is ahead. */
export const clockOffset = (): number => (Date.now() - realTime().getTime()) / 1000;

/**
 * Sets the time, which a monotonic clock then advances. A difference within the precision changes nothing,
 * so that the time does not jump back and forth.
 * @param readAt the value of `performance.now()` at the time of the reading.
 */
export function setClock(at: Date, readAt: number, precisionMs: number): void {
  const next = at.getTime() - readAt;
  if (origin === null || Math.abs(next - origin) > precisionMs) origin = next;
}
