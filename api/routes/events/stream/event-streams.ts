import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Gauge } from 'prom-client';
import { realTime } from '#domain/base/clock.ts';
import type { Announcements } from '#db/connection/announcements.ts';
import type { Pools } from '#db/connection/pools.ts';
import { closeStreams, keepStreams, openStream } from '#db/queries/events/event-streams.ts';
import { lastEventUntil, type StreamPosition, positionOf } from '#db/queries/events/published-events.ts';
import { systemDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import {
  COMMENT,
  formatPresence,
  formatReset,
  RESUMABLE_MS,
  STREAMS_PER_HOLDER,
} from '#domain/events/event-stream.ts';
import { isId, newId } from '#domain/base/ids.ts';
import { LimitReached, WORKSPACE_LIMITS } from '#domain/accounts/limits.ts';
import { ApiError } from '#api/http/errors.ts';
import type { PresenceBoard } from '#api/routes/inbox/presence.ts';
import { RateLimited } from '#api/http/rate-limits.ts';
import { EventStream } from './event-stream.ts';
import { createFeed, timeOf } from './feed.ts';
import { createPublications } from './publications.ts';

interface StreamRequest {
  workspaceId: string;
  /** The key or the user, whose streams are counted. */
  holder: string;
  /** The event after which the stream continues; '': from now. */
  lastEventId: string;
  /** Whether it includes presence: who looks at conversations. */
  withPresence: boolean;
  /** Authenticates the request again. @throws when its credential is no longer accepted. */
  authenticate(): Promise<unknown>;
}

/** The event streams of this process. */
export interface EventStreams {
  /**
   * Opens a stream, which ends when its credential is no longer accepted.
   * @returns `after`: the last event before the first one that the stream will send; null if there is none.
   * @throws RATE_LIMITED when the holder has as many streams as it may; LimitReached when the workspace has.
   */
  open(request: StreamRequest): Promise<{ stream: EventStream; after: string | null }>;
  /** Checks the credentials of all streams now. Call it after some have changed. */
  checkSoon(): void;
  /** Ends all streams. */
  close(): Promise<void>;
}

/** How often credentials are checked at least, and open streams are recorded as alive. */
const CHECK_EVERY_MS = 10_000;
/** Changes in quick succession are checked together. */
const CHANGES_MS = 200;
/** Sent with 429. The streams of a crashed process count for this long. */
const RETRY_AFTER_SECONDS = 30;

interface Open extends StreamRequest {
  stream: EventStream;
}

export function createEventStreams({
  pools,
  announcements,
  presence,
  logger,
  openStreams,
}: {
  pools: Pools;
  announcements: Announcements;
  presence: PresenceBoard;
  logger: Logger;
  openStreams: Gauge;
}): EventStreams {
  const publications = createPublications(pools, announcements, logger);
  const feed = createFeed(pools);
  const db = systemDb(pools);
  const open = new Map<string, Open>();
  const closing = new AbortController();

  /** @returns null if the stream cannot be resumed. */
  async function placeOf(workspaceId: string, eventId: string): Promise<StreamPosition | null> {
    if (!isId(eventId) || timeOf(eventId).getTime() < realTime().getTime() - RESUMABLE_MS) return null;
    const position = await withTenant(pools, workspaceId, (tenant) => positionOf(tenant, eventId));
    return position === null ? null : { position, at: timeOf(eventId) };
  }

  async function begin(request: StreamRequest): Promise<{ stream: EventStream; after: string | null }> {
    const { workspaceId, lastEventId } = request;
    const at = realTime();
    const published = await publications.publish(workspaceId);
    const resumed = lastEventId === '' ? null : await placeOf(workspaceId, lastEventId);
    const reset = lastEventId !== '' && !resumed;
    const after = resumed
      ? lastEventId
      : await withTenant(pools, workspaceId, (tenant) => lastEventUntil(tenant, published));
    const stream = new EventStream({
      workspaceId,
      place: resumed ?? { position: published, at },
      published,
      beginning: reset ? formatReset({ timestamp: at.toISOString(), workspaceId }) : COMMENT,
      feed,
      logger,
    });
    return { stream, after };
  }

  /** Removes a stream from the count; if that fails, it counts for another half minute. */
  async function release(id: string): Promise<void> {
    open.delete(id);
    openStreams.set(open.size);
    await closeStreams(db, [id]).catch((error: unknown) => {
      logger.warn({ error }, 'the end of a stream was not recorded');
    });
  }

  async function checkCredential({ stream, authenticate }: Open): Promise<void> {
    try {
      await authenticate();
    } catch (error) {
      // If the database does not respond, the stream gets no events either.
      if (error instanceof ApiError && error.code !== 'UNAVAILABLE') stream.end();
    }
  }

  let changed = new AbortController();

  async function run(): Promise<void> {
    const { signal } = closing;
    while (!signal.aborted) {
      await pause(CHECK_EVERY_MS, undefined, { signal: AbortSignal.any([signal, changed.signal]) }).catch(
        () => {},
      );
      if (changed.signal.aborted) await pause(CHANGES_MS, undefined, { signal }).catch(() => {});
      changed = new AbortController();
      if (open.size === 0 || signal.aborted) continue;
      const ids = [...open].map(([id, { holder, workspaceId }]) => ({ id, holder, workspaceId }));
      await keepStreams(db, ids).catch((error: unknown) => {
        logger.warn({ error }, 'open streams were not recorded');
      });
      // One at a time, so that requests do not wait behind a thousand lookups.
      for (const one of open.values()) if (!signal.aborted) await checkCredential(one);
    }
  }

  const running = run();

  return {
    async open(request) {
      if (closing.signal.aborted) throw new ApiError('UNAVAILABLE');
      const { workspaceId, holder } = request;
      const id = newId();
      const limits = { ofHolder: STREAMS_PER_HOLDER, ofWorkspace: WORKSPACE_LIMITS.eventStreams.max };
      const opened = await withSystem(pools, (system) =>
        openStream(system, { id, holder, workspaceId }, limits),
      );
      if (opened === 'too many of the holder')
        throw new RateLimited({ 'Retry-After': String(RETRY_AFTER_SECONDS) });
      if (opened === 'too many of the workspace') throw new LimitReached('eventStreams', RETRY_AFTER_SECONDS);
      let stream: EventStream | undefined;
      // Before the position is read, so that no publication in between is missed.
      let heard = 0;
      const unfollow = publications.follow(workspaceId, (position) => {
        heard = position;
        stream?.tell(position);
      });
      try {
        const begun = await begin(request);
        ({ stream } = begun);
        stream.tell(heard);
        const unfollowPresence = request.withPresence
          ? presence.follow(workspaceId, (one) => stream?.show(formatPresence(one)))
          : null;
        stream.once('close', () => {
          unfollow();
          unfollowPresence?.();
          void release(id);
        });
        open.set(id, { ...request, stream });
        openStreams.set(open.size);
        if (closing.signal.aborted) stream.end();
        return begun;
      } catch (error) {
        unfollow();
        await release(id);
        throw error;
      }
    },
    checkSoon: () => changed.abort(),
    async close() {
      closing.abort();
      const ids = [...open.keys()];
      for (const { stream } of open.values()) stream.end();
      await closeStreams(db, ids).catch(() => {});
      await Promise.all([running, publications.close()]);
    },
  };
}
