import type { Logger } from 'pino';
import { LimitReached, WORKSPACE_LIMITS } from '#domain/limits.ts';

/** Limits the messages that wait to be sent, at no cost for a request. */
export interface WaitingMessages {
  /** Counts a message that is about to be accepted. @throws LimitReached */
  admit(workspaceId: string): void;
}

interface Known {
  /** As counted last; 0 before the first count. */
  counted: number;
  /** Accepted by this process since. */
  since: number;
  countedAt: number;
  isCounting: boolean;
}

const { max: MAX } = WORKSPACE_LIMITS.waitingMessages;
/** How long a count is used, in milliseconds: longer while there is much room. */
const KEPT_MS = 5 * 60_000;
const KEPT_NEAR_MS = 10_000;
/** A count is renewed after so many messages, too. */
const MANY = MAX / 10;
const MAX_WORKSPACES = 10_000;

/**
 * Counts in the background, so no request waits for it. A workspace may exceed the limit by what several processes
 * accept between two counts.
 */
export function createWaitingMessages(
  count: (workspaceId: string) => Promise<number>,
  logger: Logger,
  clock: () => number = () => performance.now(),
): WaitingMessages {
  const known = new Map<string, Known>();

  async function recount(workspaceId: string, entry: Known): Promise<void> {
    entry.isCounting = true;
    const before = entry.since;
    try {
      entry.counted = await count(workspaceId);
      entry.since -= before;
      entry.countedAt = clock();
    } catch (error) {
      logger.warn({ error, workspaceId }, 'waiting messages could not be counted');
      entry.countedAt = clock();
    } finally {
      entry.isCounting = false;
    }
  }

  return {
    admit(workspaceId) {
      let entry = known.get(workspaceId);
      if (!entry) {
        if (known.size >= MAX_WORKSPACES) known.clear();
        entry = { counted: 0, since: 0, countedAt: -Infinity, isCounting: false };
        known.set(workspaceId, entry);
      }
      const waiting = entry.counted + entry.since;
      const kept = waiting > MAX / 2 ? KEPT_NEAR_MS : KEPT_MS;
      const isStale = clock() - entry.countedAt > kept || entry.since >= MANY;
      if (isStale && !entry.isCounting) void recount(workspaceId, entry);
      if (waiting >= MAX) throw new LimitReached('waitingMessages');
      entry.since += 1;
    },
  };
}
