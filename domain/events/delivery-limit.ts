/** Concurrent deliveries to an endpoint at first. Limits the sockets of an endpoint that hangs. */
export const FIRST_LIMIT = 8;
/** With an answer in 200 ms, more than 300 deliveries a second. */
export const HIGHEST_LIMIT = 96;

/**
 * The concurrency limit of an endpoint after a delivery has ended. An endpoint that responds gets more while more than
 * half of its limit is in use; the limit of one that fails is halved.
 * @param inProgress including the delivery that has ended.
 */
export function nextLimit(limit: number, inProgress: number, succeeded: boolean): number {
  if (!succeeded) return Math.max(FIRST_LIMIT, Math.floor(limit / 2));
  return inProgress > limit / 2 ? Math.min(HIGHEST_LIMIT, limit + 1) : limit;
}
