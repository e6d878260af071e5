import { ApplicationFailureCategory, ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;

/**
 * Lets a workspace hold no more slots of a task queue than are free: one busy workspace gets half of them, n busy
 * workspaces get equal shares, and at least one slot is left for the next. A task beyond the share fails with a retry
 * delay, which returns it to Temporal.
 * @param slots the slots of the worker.
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
    /** Takes a slot. @returns false if the workspace has its share. */
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
    message: 'The workspace already uses its share of this worker; the task is retried.',
    type: 'WorkspaceBusy',
    category: ApplicationFailureCategory.BENIGN,
    // Jitter spreads the retries of tasks that were returned together.
    nextRetryDelay: longest * (0.5 + Math.random() / 2),
  });
}
