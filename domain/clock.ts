/** What `performance.now()` counts from, in milliseconds since the epoch; null: not set yet. */
let origin: number | null = null;

/**
 * The time of PostgreSQL (`db/clock.ts`), the same in all processes, so that caps, gaps, windows and the deadlines of attempts
 * hold whatever the clock of a machine says. Until it is known it is the time of this machine.
 */
export const currentTime = (): Date => new Date(origin === null ? Date.now() : origin + performance.now());

/** @param ms negative for a time in the past. */
export const fromNow = (ms: number): Date => new Date(currentTime().getTime() + ms);

/** How many seconds the clock of this machine is ahead. */
export const clockOffset = (): number => (Date.now() - currentTime().getTime()) / 1000;

/**
 * Sets the time, from which a monotonic clock counts on that nobody sets. A difference within the precision changes nothing,
 * so that the time does not jump back and forth.
 * @param readAt of `performance.now()`.
 */
export function setClock(at: Date, readAt: number, precisionMs: number): void {
  const next = at.getTime() - readAt;
  if (origin === null || Math.abs(next - origin) > precisionMs) origin = next;
}
