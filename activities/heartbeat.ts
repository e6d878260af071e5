import { Context } from '@temporalio/activity';

const EVERY_MS = 8000;

/**
 * Heartbeats while work goes on, but not in its first seconds: a short round costs no heartbeat at all, and a long
 * one is noticed within the heartbeat timeout when its worker dies.
 */
export async function withHeartbeat<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), EVERY_MS);
  try {
    return await work(context.cancellationSignal);
  } finally {
    clearInterval(timer);
  }
}
