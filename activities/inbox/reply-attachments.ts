import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { currentTime, fromNow, realTime } from '#domain/base/clock.ts';
import {
  dueAttachments,
  markFetchFailed,
  markStored,
  nextAttachmentAt,
  postpone,
  type WaitingAttachment,
} from '#db/queries/messages/attachments.ts';
import { awaitTranscript, dueTranscripts, nextTranscriptAt } from '#db/queries/messages/transcripts.ts';
import { countInbound, inboundUsage } from '#db/queries/messages/storage-usage.ts';
import { inboundExceeded, nextDay, type NoInboundRoom } from '#domain/messages/storage-quota.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { emitReplyEvents } from '#db/commands/inbox/reply-events.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { FileTooLarge, storageKey } from '#providers/storage/storage.ts';
import { attachmentFetcherId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { type OpenMedia, openWithin, resumedMedia } from './resumed-media.ts';
import { createTranscription } from './transcripts.ts';
import { dueNow, isDue, roundOf } from '../base/round.ts';

/** A workspace with more work than this starts another round, behind the other workspaces. */
const ROUND_MS = 20_000;
/** Files fetched concurrently for a workspace. */
const BATCH = 8;
/** A contact's server may be behind a slow connection: 100 MB at half a megabit per second. */
const FETCH_MS = 30 * 60_000;
const IDLE_MS = 30_000;
/** How often to look for further files while a slow one is fetched. */
const LOOK_MS = 2000;
const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** How long the event of a reply waits at most for the slowest file of a batch. */
const MAX_WAIT_MS = 5000;
/** The retries take about a day. */
const MAX_TRIES = 34;
const FIRST_RETRY_MS = 4000;
const LONGEST_RETRY_MS = 3_600_000;

/** There is no room for the file now, so it is fetched later. */
class NoRoom extends Error {
  readonly limit: NoInboundRoom['limit'];
  /** Another file would not fit either. */
  readonly isFull: boolean;

  constructor({ limit, message }: NoInboundRoom, isFull: boolean) {
    super(message);
    this.limit = limit;
    this.isFull = isFull;
  }
}

export function createReplyAttachmentActivities({
  pools,
  carriers,
  secrets,
  storage,
  storageQuota,
  links,
  logger,
  ...needs
}: Dependencies) {
  const transcribe = createTranscription({ pools, storage, logger, ...needs });
  const hears = needs.transcriber !== null || needs.testTranscriber !== null;

  /** @throws NoRoom if a file of `size` bytes does not fit, besides `counted` bytes of it that are counted already. */
  async function refuseWithoutRoom(
    db: TenantDb,
    address: string | null,
    size: number,
    counted = 0,
  ): Promise<void> {
    const usage = await inboundUsage(db, address);
    const problem = inboundExceeded(
      {
        total: usage.total - counted,
        today: usage.today - counted,
        ofContactToday: usage.ofContactToday - (address === null ? 0 : counted),
      },
      storageQuota,
      size,
    );
    if (problem !== null) throw new NoRoom(problem, size <= 1);
  }

  async function fetchFile(
    workspaceId: string,
    file: WaitingAttachment,
    stopped: AbortSignal,
  ): Promise<void> {
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);
    try {
      const line = await tenant((db) => findLine(db, file.lineId));
      if (!line) throw new Error('its line is no longer in this workspace');
      const { address } = file;
      await tenant((db) => refuseWithoutRoom(db, address, 1));
      const { carrier, config } = lineCarrier({ carriers, secrets }, line);
      const open: OpenMedia = (from, signal) => carrier.openMedia(config, file.sourceUrl, signal, from);
      const canceled = AbortSignal.any([stopped, AbortSignal.timeout(FETCH_MS)]);
      const limits = { idleMs: IDLE_MS, canceled };
      const media = await openWithin(open, 0, limits);
      if (media.size !== undefined && media.size > MAX_FILE_BYTES) {
        media.body.destroy();
        throw new FileTooLarge(MAX_FILE_BYTES);
      }
      const announced = media.size ?? 1;
      await tenant((db) => refuseWithoutRoom(db, address, announced)).catch((error: unknown) => {
        media.body.destroy();
        throw error;
      });
      const contentType = file.contentType ?? media.contentType;
      const key = storageKey(workspaceId, file.id);
      const content = Readable.from(resumedMedia(open, media, limits));
      const size = await storage.put(key, content, MAX_FILE_BYTES, contentType);
      const isWanted = await tenant(async (db) => {
        const isStored = await markStored(db, file.id, { size, contentType });
        if (isStored && address !== null) await countInbound(db, address, size);
        if (isStored) await refuseWithoutRoom(db, address, size, size);
        if (isStored && hears) await awaitTranscript(db, file.id, currentTime());
        return isStored;
      }).catch(async (error: unknown) => {
        if (error instanceof NoRoom) await storage.delete(key);
        throw error;
      });
      if (!isWanted) await storage.delete(key);
    } catch (error) {
      const nextDayAt = nextDay(realTime());
      if (error instanceof NoRoom && error.limit !== 'total') {
        const { limit, isFull } = error;
        logger.info({ workspaceId, attachmentId: file.id, limit }, 'a file waits for the next day');
        const which = !isFull ? { id: file.id } : limit === 'contact' ? { address: file.address } : 'all';
        await tenant((db) => postpone(db, which, { now: currentTime(), until: nextDayAt }));
        return;
      }
      const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** file.tries);
      const forGood = error instanceof FileTooLarge || file.tries + 1 >= MAX_TRIES;
      const tryAt = forGood ? null : error instanceof NoRoom ? nextDayAt : fromNow(wait);
      logger.warn(
        { workspaceId, attachmentId: file.id, tries: file.tries + 1, error },
        'a file could not be fetched',
      );
      const failure =
        error instanceof FileTooLarge || error instanceof NoRoom
          ? error.message
          : 'the carrier did not return the file';
      await tenant((db) => markFetchFailed(db, file.id, { failure, tryAt }));
    }
  }

  return {
    /** Fetches the files of replies and the recordings of calls, and emits the event of each reply with its first files. */
    async fetchReplyAttachments({ workspaceId }: { workspaceId: string }): Promise<Round> {
      const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
        withTenant(pools, workspaceId, work);
      const running = new Map<string, Promise<void>>();
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        while (!canceled.aborted) {
          const due = await tenant((db) => dueAttachments(db, currentTime(), BATCH + running.size));
          const started = due.filter(({ id }) => !running.has(id)).slice(0, BATCH - running.size);
          const track = (id: string, work: Promise<void>): Promise<void> => {
            const tracked = work.finally(() => running.delete(id));
            running.set(id, tracked);
            return tracked;
          };
          const fetches = started.map((file) => track(file.id, fetchFile(workspaceId, file, canceled)));
          const unheard = await tenant((db) => dueTranscripts(db, currentTime(), BATCH));
          for (const file of unheard.filter(({ id }) => !running.has(id)).slice(0, BATCH - running.size))
            track(file.id, transcribe(workspaceId, file, canceled)).catch(() => {});
          await Promise.race([
            started.length > 0 ? Promise.all(fetches) : Promise.race(running.values()),
            pause(started.length > 0 ? MAX_WAIT_MS : running.size > 0 ? LOOK_MS : 0, undefined, {
              ref: false,
            }),
          ]);
          await tenant((db) => emitReplyEvents(db, { links, now: currentTime() }));
          if (running.size > 0) continue;
          if (started.length === 0) {
            const look = await decide(pools, workspaceId, attachmentFetcherId(workspaceId), lookAtFiles);
            if (!isDue(look)) return roundOf(look);
          }
          if (Date.now() >= end) break;
        }
        await Promise.allSettled(running.values());
        return roundOf(dueNow('there are more files to fetch'));
      });
    },
  };
}

async function lookAtFiles(db: TenantDb): Promise<Look> {
  const fetchAt = await nextAttachmentAt(db);
  const hearAt = await nextTranscriptAt(db);
  if (hearAt !== null && (fetchAt === null || hearAt < fetchAt))
    return { nextAt: hearAt, reason: 'some voice notes are not written down yet' };
  return {
    nextAt: fetchAt,
    reason: fetchAt === null ? 'every file is fetched' : 'some files could not be fetched yet',
  };
}
