import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { publishEvents } from '#db/commands/outbox/publish-events.ts';
import type { Pools } from '#db/pools.ts';
import { batchesFrom } from '#db/queries/published-events.ts';
import { systemDb } from '#db/transactions.ts';
import { Busy } from '#domain/fair-queue.ts';

/** Publishes events, and notifies the streams of this process of what any process has published. */
export interface Publications {
  /**
   * Publishes all that is committed.
   * @returns the position of the last event.
   * @throws Busy if that takes more than some seconds.
   */
  publish(): Promise<number>;
  /**
   * Calls back with a position when the workspace may have new events up to it.
   * @returns a function that ends the calls.
   */
  follow(workspaceId: string, onPublished: (position: number) => void): () => void;
  close(): Promise<void>;
}

const POLL_MS = 200;
/** The interval while no stream is open, which only limits the backlog. */
const IDLE_POLL_MS = 5000;
const TIMEOUT_MS = 5000;

export function createPublications(pools: Pools, logger: Logger): Publications {
  const db = systemDb(pools);
  const followers = new Map<string, Set<(position: number) => void>>();
  const closing = new AbortController();
  /** The position of the last batch that this process has seen. */
  let position = Number.MAX_SAFE_INTEGER;
  let idle = new AbortController();
  let polling: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  let failing = false;

  /** @returns whether something is left to publish. */
  async function look(): Promise<boolean> {
    const batches = await batchesFrom(db, position);
    const [first] = batches;
    const last = batches.at(-1);
    if (!first || !last) throw new Error('event_batches is empty');
    if (last.position !== position) {
      // If the batch at `position` is missing, batches in between were deleted.
      const changed =
        first.position > position
          ? followers.keys()
          : new Set(batches.flatMap((batch) => batch.workspaceIds));
      position = last.position;
      for (const workspaceId of changed) for (const tell of followers.get(workspaceId) ?? []) tell(position);
    }
    return last.pending;
  }

  async function poll(): Promise<void> {
    let pending = await look();
    while (pending && !closing.signal.aborted) {
      await publishEvents(pools);
      pending = await look();
    }
  }

  /** A poll that begins after this call. Calls before it begins share it. */
  function pollSoon(): Promise<void> {
    next ??= polling
      .catch(() => {})
      .then(() => {
        next = null;
        polling = poll();
        return polling;
      });
    return next;
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await pollSoon();
        failing = false;
      } catch (error) {
        if (!failing) logger.warn({ error }, 'events cannot be published to streams for now');
        failing = true;
      }
      idle = new AbortController();
      const signal = AbortSignal.any([closing.signal, idle.signal]);
      await pause(followers.size > 0 ? POLL_MS : IDLE_POLL_MS, undefined, { signal }).catch(() => {});
    }
  }

  const running = run();

  return {
    async publish() {
      const late = Promise.withResolvers<never>();
      const giveUp = (): void => late.reject(new Busy(`events were not published within ${TIMEOUT_MS} ms`));
      const timer = setTimeout(giveUp, TIMEOUT_MS);
      await Promise.race([pollSoon(), late.promise]).finally(() => clearTimeout(timer));
      return position;
    },
    follow(workspaceId, onPublished) {
      if (followers.size === 0) idle.abort();
      const ofWorkspace = followers.get(workspaceId) ?? new Set();
      followers.set(workspaceId, ofWorkspace.add(onPublished));
      return () => {
        ofWorkspace.delete(onPublished);
        if (ofWorkspace.size === 0 && followers.get(workspaceId) === ofWorkspace)
          followers.delete(workspaceId);
      };
    },
    async close() {
      closing.abort();
      await running;
    },
  };
}
