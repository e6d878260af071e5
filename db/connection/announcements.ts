import { setTimeout as pause } from 'node:timers/promises';
import { type CommonQueryMethods, sql } from 'slonik';
import { listen } from './listener.ts';
import { NoRows } from './rows.ts';

/**
 * Tells all processes which workspaces have new events, so that what waits for events looks at once. An announcement may be lost,
 * so whoever waits also looks at intervals.
 */
export interface Announcer {
  /** To be called after the commit. Returns at once and never throws. */
  announce(workspaceId: string): void;
}

const CHANNEL = 'new_events';
/** PostgreSQL allows less than 8000 bytes. */
const MAX_ANNOUNCED = 200;
/** Commits that notify wait for each other, so a process has few of them, and none with a change. */
const LEAST_MS = 25;

/** @param db runs single statements that commit at once. */
export function createAnnouncer(db: CommonQueryMethods): Announcer {
  const waiting = new Set<string>();
  let isSending = false;

  async function send(): Promise<void> {
    isSending = true;
    while (waiting.size > 0) {
      const payload = waiting.size > MAX_ANNOUNCED ? '' : [...waiting].join(' ');
      waiting.clear();
      await db.query(sql.type(NoRows)`select pg_notify(${CHANNEL}, ${payload})`).catch(() => {});
      await pause(LEAST_MS);
    }
    isSending = false;
  }

  return {
    announce(workspaceId) {
      waiting.add(workspaceId);
      if (!isSending) void send();
    },
  };
}

/** What all processes have announced. */
export interface Announcements {
  /** @param concerns whether the subscriber waits for the events of a workspace. */
  subscribe(concerns: (workspaceId: string) => boolean): Subscription;
  close(): Promise<void>;
}

/** Has one caller at a time. */
export interface Subscription extends Disposable {
  /**
   * Waits for an announcement, but no longer than `atMostMs`, nor than `sooner`, which is to be a new promise each time.
   * @returns the workspaces that were announced since the last call; null: if it has waited in vain, or some may have been lost.
   */
  next(atMostMs: number, sooner?: Promise<unknown>): Promise<ReadonlySet<string> | null>;
}

/** @param databaseUrl does not lead through a pooler; otherwise nothing is ever announced. */
export function listenToAnnouncements(databaseUrl: string): Announcements {
  const subscribers = new Set<(workspaceIds: readonly string[] | null) => void>();
  const listener = listen(databaseUrl, CHANNEL, (payload) => {
    const workspaceIds = payload === '' ? null : payload.split(' ');
    for (const tell of subscribers) tell(workspaceIds);
  });

  return {
    subscribe(concerns) {
      let announced: Set<string> | null = new Set();
      let returnedAt = -Infinity;
      let wake = (): void => {};
      const isAnnounced = (): boolean => announced === null || announced.size > 0;
      function tell(workspaceIds: readonly string[] | null): void {
        const ours = workspaceIds?.filter(concerns) ?? null;
        announced = ours && announced && new Set([...announced, ...ours]);
        if (isAnnounced()) wake();
      }
      subscribers.add(tell);
      return {
        async next(atMostMs, sooner) {
          if (!isAnnounced()) await until(atMostMs, sooner, (resolve) => (wake = resolve));
          // Announcements of many processes do not make their subscriber look all the time.
          const wait = returnedAt + LEAST_MS - performance.now();
          if (isAnnounced() && wait > 0) await until(wait, sooner);
          const found = isAnnounced() ? announced : null;
          announced = new Set();
          returnedAt = performance.now();
          return found;
        },
        [Symbol.dispose]: () => void subscribers.delete(tell),
      };
    },
    close: () => listener.close(),
  };
}

async function until(
  ms: number,
  sooner: Promise<unknown> | undefined,
  onWaiting: (resolve: () => void) => void = () => {},
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  void sooner?.then(() => resolve());
  onWaiting(resolve);
  await promise.finally(() => clearTimeout(timer));
}
