import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { publishEvents } from '#db/commands/outbox/publish-events.ts';
import type { Pools } from '#db/pools.ts';
import { Busy } from '#domain/fair-queue.ts';

/** Publishes the events of followed workspaces, and notifies the streams of this process of what any process has published. */
export interface Publications {
  /**
   * Publishes all that is committed in a workspace.
   * @returns the position of the last event.
   * @throws Busy if that takes more than some seconds.
   */
  publish(workspaceId: string): Promise<number>;
  /**
   * Calls back with a position when the workspace may have new events up to it.
   * @returns a function that ends the calls.
   */
  follow(workspaceId: string, onPublished: (position: number) => void): () => void;
  close(): Promise<void>;
}

const POLL_MS = 200;
const TIMEOUT_MS = 5000;

export function createPublications(pools: Pools, logger: Logger): Publications {
  const followers = new Map<string, Set<(position: number) => void>>();
  const closing = new AbortController();
  /** The calls of `publish` that have not begun, by workspace: later ones share them. */
  const next = new Map<string, Promise<number>>();
  const current = new Map<string, Promise<number>>();
  let followed = Promise.withResolvers<void>();
  let failing = false;

  async function publishOf(workspaceIds: readonly string[]): Promise<Map<string, number>> {
    const positions = new Map<string, number>();
    await publishEvents(pools, workspaceIds, {
      onPublished({ workspaceId, position }) {
        positions.set(workspaceId, position);
        for (const tell of followers.get(workspaceId) ?? []) tell(position);
      },
      mayContinue: () => !closing.signal.aborted,
    });
    return positions;
  }

  async function publishOne(workspaceId: string): Promise<number> {
    const position = (await publishOf([workspaceId])).get(workspaceId);
    if (position === undefined) throw new Busy(`the events of ${workspaceId} cannot be published`);
    return position;
  }

  /** Begins after this call, so that it sees everything that was committed before. */
  function publishSoon(workspaceId: string): Promise<number> {
    const waiting = next.get(workspaceId);
    if (waiting) return waiting;
    const begun = (current.get(workspaceId) ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        next.delete(workspaceId);
        const published = publishOne(workspaceId).finally(() => {
          if (current.get(workspaceId) === published) current.delete(workspaceId);
        });
        current.set(workspaceId, published);
        return published;
      });
    next.set(workspaceId, begun);
    return begun;
  }

  async function run(): Promise<void> {
    const closed = new Promise((resolve) => closing.signal.addEventListener('abort', resolve));
    while (!closing.signal.aborted) {
      if (followers.size === 0) await Promise.race([followed.promise, closed]);
      try {
        await publishOf([...followers.keys()]);
        failing = false;
      } catch (error) {
        if (!failing) logger.warn({ error }, 'events cannot be published to streams for now');
        failing = true;
      }
      await pause(POLL_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  const running = run();

  return {
    async publish(workspaceId) {
      const late = Promise.withResolvers<never>();
      const giveUp = (): void => late.reject(new Busy(`events were not published within ${TIMEOUT_MS} ms`));
      const timer = setTimeout(giveUp, TIMEOUT_MS);
      return Promise.race([publishSoon(workspaceId), late.promise]).finally(() => clearTimeout(timer));
    },
    follow(workspaceId, onPublished) {
      const ofWorkspace = followers.get(workspaceId) ?? new Set();
      followers.set(workspaceId, ofWorkspace.add(onPublished));
      followed.resolve();
      return () => {
        ofWorkspace.delete(onPublished);
        if (ofWorkspace.size === 0 && followers.get(workspaceId) === ofWorkspace)
          followers.delete(workspaceId);
        if (followers.size === 0) followed = Promise.withResolvers();
      };
    },
    async close() {
      closing.abort();
      await running;
    },
  };
}
