import type { Logger } from 'pino';
import { publishEvents } from '#db/commands/events/publish-events.ts';
import type { Announcements } from '#db/connection/announcements.ts';
import type { Pools } from '#db/connection/pools.ts';
import { Busy } from '#domain/base/fair-queue.ts';

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

/** For what is not announced. */
const POLL_MS = 200;
const TIMEOUT_MS = 5000;

export function createPublications(pools: Pools, announcements: Announcements, logger: Logger): Publications {
  const followers = new Map<string, Set<(position: number) => void>>();
  const closing = new AbortController();
  /** The calls of `publish` that have not begun, by workspace: later ones share them. */
  const next = new Map<string, Promise<number>>();
  const current = new Map<string, Promise<number>>();
  /** Resolves when there is a follower. */
  let followed = Promise.withResolvers<void>();
  let failing = false;

  async function publishNext(workspaceIds: readonly string[], onFailure: (error: unknown) => void) {
    const published = await publishEvents(pools, workspaceIds, { onFailure });
    for (const { workspaceId, position } of published)
      for (const tell of followers.get(workspaceId) ?? []) tell(position);
    return published;
  }

  async function publishOne(workspaceId: string): Promise<number> {
    for (;;) {
      let failure: unknown = new Busy(`the events of ${workspaceId} cannot be published`);
      const [published] = await publishNext([workspaceId], (error) => (failure = error));
      if (!published || closing.signal.aborted) throw failure;
      if (!published.more) return published.position;
    }
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

  /** @returns whether some of a backlog is left. */
  async function poll(workspaceIds: readonly string[]): Promise<boolean> {
    let failure: unknown = null;
    let published: Awaited<ReturnType<typeof publishNext>> = [];
    try {
      published = await publishNext(workspaceIds, (error) => (failure ??= error));
    } catch (error) {
      failure = error;
    }
    if (failure !== null && !failing)
      logger.warn({ error: failure }, 'events cannot be published to streams for now');
    failing = failure !== null;
    return published.some(({ more }) => more);
  }

  async function run(): Promise<void> {
    using events = announcements.subscribe((workspaceId) => followers.has(workspaceId));
    while (!closing.signal.aborted) {
      if (followers.size === 0) await followed.promise;
      const end = performance.now() + POLL_MS;
      let hasMore = await poll([...followers.keys()]);
      while (!hasMore && !closing.signal.aborted && performance.now() < end) {
        const announced = await events.next(end - performance.now());
        if (announced !== null) hasMore = await poll([...announced]);
      }
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
        if (ofWorkspace.size > 0 || followers.get(workspaceId) !== ofWorkspace) return;
        followers.delete(workspaceId);
        if (followers.size === 0) followed = Promise.withResolvers();
      };
    },
    async close() {
      closing.abort();
      followed.resolve();
      await running;
    },
  };
}
