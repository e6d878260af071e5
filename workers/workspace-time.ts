import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { toRealTime } from '#domain/clock.ts';
import { inWorkspaceTime } from '#db/workspace-clock.ts';

/**
 * Runs an activity in the time of its workspace, which is ahead in test mode, and converts the time of its next run:
 * workflows wait in real time.
 */
export const workspaceTime: ActivityInterceptorsFactory = () => ({
  inbound: {
    execute(input, next) {
      const [{ workspaceId } = {}] = input.args as [{ workspaceId?: unknown }?];
      if (typeof workspaceId !== 'string') return next(input);
      return inWorkspaceTime(workspaceId, async () => inRealTime(await next(input)));
    },
  },
});

function inRealTime(result: unknown): unknown {
  const { nextAt } = (result ?? {}) as { nextAt?: unknown };
  if (typeof nextAt !== 'string') return result;
  return { ...(result as object), nextAt: toRealTime(new Date(nextAt)).toISOString() };
}
