/** Concurrent deliveries to an endpoint at first. Bounds the sockets of an endpoint that hangs. */
export const FIRST_LIMIT = 8;
/** With an answer in 200 ms, more than 300 deliveries a second. */
export const HIGHEST_LIMIT = 96;

/**
 * How many deliveries an endpoint gets at once after one has ended. An endpoint that answers gets more while more than
 * half of what it may get is in progress; one that fails gets half.
 * @param inProgress with the one that has ended.
 */
export function nextLimit(limit: number, inProgress: number, succeeded: boolean): number {
  if (!succeeded) return Math.max(FIRST_LIMIT, Math.floor(limit / 2));
  return inProgress > limit / 2 ? Math.min(HIGHEST_LIMIT, limit + 1) : limit;
}
