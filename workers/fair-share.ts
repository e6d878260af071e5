import { ApplicationFailureCategory, ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;

/**
 * Lets a workspace hold as many of a task queue's slots as are free: one by itself has half of them, n that want more
 * than they get have an equal share each, and there is always one left for whoever comes next. Work beyond that is
 * given back to Temporal, and comes again a little later.
 * @param slots of the worker that the interceptor is for.
 */
export function fairShare(slots: number): ActivityInterceptorsFactory {
  const share = createShare(slots);
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const workspaceId = info.isLocal ? null : workspaceOf(input.args);
        if (workspaceId === null) return next(input);
        if (!share.take(workspaceId)) throw busy(info.attempt);
        try {
          return await next(input);
        } finally {
          share.release(workspaceId);
        }
      },
    },
  });
}

export function createShare(slots: number) {
  const held = new Map<string, number>();
  let busy = 0;
  const of = (workspaceId: string): number => held.get(workspaceId) ?? 0;
  return {
    /** @returns whether the workspace may have one more. */
    take(workspaceId: string): boolean {
      if (of(workspaceId) >= slots - busy) return false;
      held.set(workspaceId, of(workspaceId) + 1);
      busy += 1;
      return true;
    },
    release(workspaceId: string): void {
      busy -= 1;
      if (of(workspaceId) > 1) held.set(workspaceId, of(workspaceId) - 1);
      else held.delete(workspaceId);
    },
  };
}

/** Every activity for one workspace names it in its first argument. */
function workspaceOf([input]: unknown[]): string | null {
  const { workspaceId } = (input ?? {}) as { workspaceId?: unknown };
  return typeof workspaceId === 'string' ? workspaceId : null;
}

function busy(attempt: number): ApplicationFailure {
  const longest = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempt - 1, 10));
  return ApplicationFailure.create({
    message: 'The workspace has its share of this worker; the task comes again.',
    type: 'WorkspaceBusy',
    category: ApplicationFailureCategory.BENIGN,
    // Spread, so that what was given back together does not come back together.
    nextRetryDelay: longest * (0.5 + Math.random() / 2),
  });
}
