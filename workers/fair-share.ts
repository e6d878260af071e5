import { ApplicationFailureCategory, ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { TaskSlots } from '#activities/sending/gap-waits.ts';

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;

/**
 * Lets a workspace hold no more slots of a task queue than are free: one busy workspace gets half of them, n busy
 * workspaces get equal shares, and at least one slot is left for the next. A task beyond the share fails with a retry
 * delay, which returns it to Temporal.
 */
export function fairShare(share: Share): ActivityInterceptorsFactory {
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

export interface Share extends TaskSlots {
  /** @returns whether the workspace may have one more slot. */
  take(workspaceId: string): boolean;
  release(workspaceId: string): void;
}

/**
 * The slots of a worker at one task queue. Tasks that only wait count for no workspace. They keep their slots while more
 * than half of all slots are free; after that, each new task ends one wait, so no wait is in the way of work.
 */
export function createShare(slots: number): Share {
  const held = new Map<string, number>();
  let busy = 0;
  /** The workspaces of the waiting tasks, by the function that ends the wait; the oldest first. */
  const waiting = new Map<() => void, string>();
  const of = (workspaceId: string): number => held.get(workspaceId) ?? 0;
  const free = (): number => slots - busy - waiting.size;
  const hasRoom = (): boolean => free() > slots / 2;

  function hold(workspaceId: string): void {
    held.set(workspaceId, of(workspaceId) + 1);
    busy += 1;
  }
  function release(workspaceId: string): void {
    busy -= 1;
    if (of(workspaceId) > 1) held.set(workspaceId, of(workspaceId) - 1);
    else held.delete(workspaceId);
  }
  function endWait(giveUp: () => void): void {
    const workspaceId = waiting.get(giveUp);
    if (workspaceId === undefined) return;
    waiting.delete(giveUp);
    hold(workspaceId);
    giveUp();
  }

  return {
    take(workspaceId) {
      if (of(workspaceId) >= free()) return false;
      hold(workspaceId);
      const [oldest] = waiting.keys();
      if (oldest && !hasRoom()) endWait(oldest);
      return true;
    },
    release,
    hasRoom,
    wait(workspaceId, giveUp) {
      if (!hasRoom()) return null;
      release(workspaceId);
      waiting.set(giveUp, workspaceId);
      return () => endWait(giveUp);
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
