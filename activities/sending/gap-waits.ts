import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { currentTime } from '#domain/base/clock.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { isTestTime } from '#db/connection/workspace-clock.ts';
import { type LastLook, requestedSince } from '#db/wakes/wakes.ts';

/** A wait this short is not a gap but a moment until something can be done. */
const MOMENT_MS = 1000;
const TEST_MOMENT_MS = 100;
/** A gap this short always keeps its slot: a timer costs an action and is accurate only to the second. */
const SHORT_MS = 3000;
/** The longest gap of a line with the default settings. It is also the time that a sweep leaves a workflow alone. */
const LONG_MS = 30_000;
/** How soon a waiting round notices a wake. */
const POLL_MS = 500;

/** This worker's task slots of one queue. */
export interface TaskSlots {
  /** Whether a task may wait without giving up its slot. */
  hasRoom(): boolean;
  /**
   * Counts the slot of the calling task as waiting.
   * @param workspaceId as in the arguments of the task.
   * @param giveUp called when other tasks need the slot.
   * @returns ends the wait; null: no task may wait.
   */
  wait(workspaceId: string, giveUp: () => void): (() => void) | null;
}

interface RoundAtWork {
  taskQueue: string;
  workspaceId: string;
  /** The workspace in the arguments of the task: another one if the line has moved since. */
  taskWorkspaceId: string;
  workflowId: string;
  /** Whether the round may wait out gaps. */
  gaps: boolean;
  /** When the round is over, in milliseconds since the epoch. */
  end: number;
  canceled: AbortSignal;
}

/** The waits of one round. */
export interface RoundWaits {
  /** Whether the round waits until then. */
  allows(at: Date | null): boolean;
  /** Whether the next round could wait until then. */
  allowsNextRound(at: Date | null): boolean;
  /**
   * Waits until `at`; ends earlier if the workflow is woken, another task needs the slot, or the round is
   * canceled.
   */
  wait(at: Date, requestedBy: string): Promise<void>;
}

export interface GapWaits {
  /** Whether this worker has slots for a task queue. */
  serves(taskQueue: string): boolean;
  ofRound(round: RoundAtWork): RoundWaits;
  /** Ends all waits and allows no more, because the worker shuts down. */
  close(): void;
}

/**
 * Lets a round wait for the next message on the slot of its task, instead of ending before a timer: one activity sends
 * several messages of a line.
 */
export function createGapWaits({
  pools,
  slots,
  logger,
}: {
  pools: Pools;
  /** By task queue. */
  slots: ReadonlyMap<string, TaskSlots>;
  logger: Logger;
}): GapWaits {
  const closing = new AbortController();
  const watch = watchRequests(pools, logger);

  function allows(taskQueue: string, at: Date | null, gaps: boolean): boolean {
    if (at === null || closing.signal.aborted) return false;
    const ms = at.getTime() - currentTime().getTime();
    // The clock of a workspace in test mode advances only after its rounds have ended.
    if (isTestTime()) return ms <= TEST_MOMENT_MS;
    if (!gaps) return ms <= MOMENT_MS;
    return ms <= SHORT_MS || (ms <= LONG_MS && (slots.get(taskQueue)?.hasRoom() ?? false));
  }

  return {
    serves: (taskQueue) => !closing.signal.aborted && slots.has(taskQueue),

    ofRound: ({ taskQueue, workspaceId, taskWorkspaceId, workflowId, gaps, end, canceled }) => ({
      allows: (at) => !canceled.aborted && Date.now() < end && allows(taskQueue, at, gaps),
      allowsNextRound: (at) => !canceled.aborted && allows(taskQueue, at, true),

      async wait(at, requestedBy) {
        const ms = at.getTime() - currentTime().getTime();
        if (ms <= 0) return;
        const ended = new AbortController();
        const giveUp = (): void => ended.abort();
        const endWait = ms <= SHORT_MS ? () => {} : slots.get(taskQueue)?.wait(taskWorkspaceId, giveUp);
        if (!endWait) return;
        const unwatch = watch({ workspaceId, workflowId, requestedBy }, giveUp);
        const signal = AbortSignal.any([ended.signal, canceled, closing.signal]);
        await pause(ms, undefined, { signal }).catch(() => {});
        unwatch();
        endWait();
      },
    }),

    close: () => closing.abort(),
  };
}

/** Ends the waits of rounds that were woken: one query for all of them, and none while no round waits. */
function watchRequests(pools: Pools, logger: Logger) {
  const watched = new Map<LastLook, () => void>();
  let isWatching = false;

  async function tellRequested(): Promise<void> {
    const looks = [...watched.keys()];
    const requested = await requestedSince(systemDb(pools), looks);
    for (const look of looks) if (requested.has(look.workflowId)) watched.get(look)?.();
  }

  async function watch(): Promise<void> {
    isWatching = true;
    for (; watched.size > 0; await pause(POLL_MS)) {
      await tellRequested().catch((error: unknown) => {
        logger.warn({ error }, 'waiting rounds cannot hear of requests');
        // The rounds then look themselves.
        for (const tell of watched.values()) tell();
      });
    }
    isWatching = false;
  }

  return (look: LastLook, tell: () => void): (() => void) => {
    watched.set(look, tell);
    if (!isWatching) void watch();
    return () => void watched.delete(look);
  };
}
