import { Context } from '@temporalio/activity';

const EVERY_MS = 8000;

/**
 * Heartbeats while work goes on, but not in its first seconds: a short round costs no heartbeat at all, and a long
 * one is noticed within the heartbeat timeout when its worker dies.
 * @param work may return early when the signal is aborted. The result counts when the worker shuts down, so that the
 *   next round takes place elsewhere.
 * @throws CancelledFailure when an operator paused, reset or canceled the activity: with a result it would be over, and
 *   the workflow would schedule the next.
 */
export async function withHeartbeat<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), EVERY_MS);
  try {
    return await work(context.cancellationSignal);
  } finally {
    clearInterval(timer);
    if (context.cancellationDetails?.workerShutdown === false) await context.cancelled;
  }
}
