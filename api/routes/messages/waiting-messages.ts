import type { Logger } from 'pino';
import { LimitReached, WORKSPACE_LIMITS } from '#domain/accounts/limits.ts';

/** Limits the messages that wait to be sent. Those of a campaign are counted when it starts (`requireRoomForMessages`). */
export interface WaitingMessages {
  /** Counts a message that is about to be accepted, without delaying its request. @throws LimitReached */
  admit(workspaceId: string): void;
}

interface Known {
  /** The last count; 0 before the first. */
  counted: number;
  /** Messages that this process has accepted since. */
  since: number;
  countedAt: number;
  /** The count in progress. */
  counting: Promise<void> | null;
}

const { max: MAX } = WORKSPACE_LIMITS.waitingMessages;
/** How long a count is valid, in milliseconds: longer while there is much room. */
const KEPT_MS = 5 * 60_000;
const KEPT_NEAR_MS = 10_000;
/** A count is renewed after so many messages, too, but not within this time: it may have failed. */
const MANY = MAX / 10;
const AT_LEAST_MS = 1000;
const MAX_WORKSPACES = 10_000;

/**
 * Counts in the background, so no request of one message waits for it. A workspace may exceed the limit by what several
 * processes accept between two counts.
 */
export function createWaitingMessages(
  count: (workspaceId: string) => Promise<number>,
  logger: Logger,
  clock: () => number = () => performance.now(),
): WaitingMessages {
  const known = new Map<string, Known>();

  async function countNow(workspaceId: string, entry: Known): Promise<void> {
    const before = entry.since;
    try {
      entry.counted = await count(workspaceId);
      entry.since -= before;
    } catch (error) {
      logger.warn({ error, workspaceId }, 'waiting messages could not be counted');
    } finally {
      entry.countedAt = clock();
      entry.counting = null;
    }
  }

  const recount = (workspaceId: string, entry: Known): Promise<void> =>
    (entry.counting ??= countNow(workspaceId, entry));

  function entryOf(workspaceId: string): Known {
    const found = known.get(workspaceId);
    if (found) return found;
    if (known.size >= MAX_WORKSPACES) known.clear();
    const entry = { counted: 0, since: 0, countedAt: -Infinity, counting: null };
    known.set(workspaceId, entry);
    return entry;
  }

  return {
    admit(workspaceId) {
      const entry = entryOf(workspaceId);
      const kept = entry.counted + entry.since > MAX / 2 ? KEPT_NEAR_MS : KEPT_MS;
      const age = clock() - entry.countedAt;
      if (age > kept || (entry.since >= MANY && age > AT_LEAST_MS)) void recount(workspaceId, entry);
      if (entry.counted + entry.since >= MAX) throw new LimitReached('waitingMessages');
      entry.since += 1;
    },
  };
}
