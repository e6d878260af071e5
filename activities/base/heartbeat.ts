import { Context } from '@temporalio/activity';
import { watchProgress } from '#db/connection/progress.ts';

/** A fraction of the heartbeat timeout. The SDK sends at most one heartbeat in 0.8 of it, however many it is given. */
const EVERY = 2 / 3;
/** Longer than anything that an activity waits for at once: a carrier has up to 130 seconds for a message. */
const MAX_SILENCE_MS = 150_000;

/**
 * Sends heartbeats while the work gets on (`noteProgress`). The first one is late, because each costs an action and a short round
 * then costs none. If the worker dies, or the work hangs, Temporal notices within the heartbeat timeout, and tries again.
 * @param work may return early when the signal is aborted. The result counts when the worker shuts down, so that the
 *   next round takes place elsewhere.
 * @param details what an operator sees of the running activity; only ids and times.
 * @throws CancelledFailure when an operator paused, reset or canceled the activity: with a result it would be over, and
 *   the workflow would schedule the next.
 */
export async function withHeartbeat<T>(
  work: (signal: AbortSignal) => Promise<T>,
  details?: () => unknown,
): Promise<T> {
  const context = Context.current();
  const timeoutMs = context.info.heartbeatTimeoutMs;
  return watchProgress(async (silentMs) => {
    const beat = (): void => {
      if (silentMs() < MAX_SILENCE_MS) context.heartbeat(details?.());
    };
    const timer = timeoutMs && setInterval(beat, timeoutMs * EVERY);
    try {
      return await work(context.cancellationSignal);
    } finally {
      if (timer) clearInterval(timer);
      if (context.cancellationDetails?.workerShutdown === false) await context.cancelled;
    }
  });
}
