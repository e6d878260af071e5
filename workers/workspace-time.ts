import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { realTime, toRealTime } from '#domain/base/clock.ts';
import { inWorkspaceTime } from '#db/connection/workspace-clock.ts';

/**
 * Runs an activity in the time of its workspace, which is ahead in test mode, and converts the time of its next run:
 * workflows wait in real time. How long, they are told as well: the clock of Temporal's server may differ from PostgreSQL's, by which
 * the time is meant, and then each look would be too early or too late.
 */
export const workspaceTime: ActivityInterceptorsFactory = () => ({
  inbound: {
    execute(input, next) {
      const [{ workspaceId } = {}] = input.args as [{ workspaceId?: unknown }?];
      if (typeof workspaceId !== 'string') return next(input);
      return inWorkspaceTime(workspaceId, async () => nextWait(await next(input)));
    },
  },
});

/** The result of an activity, with the time of the next run in real time. */
export function nextWait(result: unknown): unknown {
  const { nextAt } = (result ?? {}) as { nextAt?: unknown };
  if (typeof nextAt !== 'string') return result;
  const at = toRealTime(new Date(nextAt));
  return { ...(result as object), nextAt: at.toISOString(), waitMs: at.getTime() - realTime().getTime() };
}
