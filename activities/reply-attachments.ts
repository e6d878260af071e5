import { setTimeout as pause } from 'node:timers/promises';
import { currentTime, fromNow } from '#domain/clock.ts';
import {
  dueAttachments,
  markFetchFailed,
  markStored,
  nextAttachmentAt,
  type WaitingAttachment,
} from '#db/queries/attachments.ts';
import { storageUsage } from '#db/queries/storage-usage.ts';
import { quotaExceeded } from '#domain/storage-quota.ts';
import { findLine } from '#db/queries/lines.ts';
import { decide } from '#db/decisions.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import { emitReplyEvents } from '#db/commands/inbound/reply-events.ts';
import { lineCarrier } from '#providers/carriers/line-carrier.ts';
import { FileTooLarge, storageKey } from '#providers/storage/storage.ts';
import { attachmentFetcherId } from '#workflows/messages/workflow-ids.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { type Look, repeatFor } from './round.ts';

/** A workspace with more work than this starts another round, behind the other workspaces. */
const ROUND_MS = 20_000;
/** Files fetched concurrently for a workspace. */
const BATCH = 8;
const FETCH_TIMEOUT_MS = 30_000;
const MAX_FILE_BYTES = 100 * 1024 * 1024;
/** How long the event of a reply waits at most for the slowest file of a batch. */
const MAX_WAIT_MS = 5000;
/** The retries take about a day. */
const MAX_TRIES = 34;
const FIRST_RETRY_MS = 4000;
const LONGEST_RETRY_MS = 3_600_000;

/** The storage quota is used up: the file is skipped, but not its message. */
class NoRoom extends Error {}

export function createReplyAttachmentActivities({
  pools,
  carriers,
  secrets,
  storage,
  storageQuota,
  links,
  logger,
}: Dependencies) {
  /** @throws NoRoom if the transaction exceeds, or would exceed, the workspace's storage quota. */
  async function refuseBeyondQuota(db: TenantDb, added: number): Promise<void> {
    const problem = quotaExceeded(await storageUsage(db), storageQuota, added);
    if (problem !== null) throw new NoRoom(problem);
  }

  async function fetchFile(workspaceId: string, file: WaitingAttachment): Promise<void> {
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);
    try {
      const line = await tenant((db) => findLine(db, file.lineId));
      if (!line) throw new Error('its line is no longer in this workspace');
      await tenant((db) => refuseBeyondQuota(db, 1));
      const { carrier, config } = lineCarrier({ carriers, secrets }, line);
      const media = await carrier.openMedia(config, file.sourceUrl, AbortSignal.timeout(FETCH_TIMEOUT_MS));
      if (media.size !== undefined && media.size > MAX_FILE_BYTES) {
        media.body.destroy();
        throw new FileTooLarge(MAX_FILE_BYTES);
      }
      const contentType = file.contentType ?? media.contentType;
      const key = storageKey(workspaceId, file.id);
      const size = await storage.put(key, media.body, MAX_FILE_BYTES, contentType);
      const isWanted = await tenant(async (db) => {
        const isStored = await markStored(db, file.id, { size, contentType });
        await refuseBeyondQuota(db, 0);
        return isStored;
      }).catch(async (error: unknown) => {
        if (error instanceof NoRoom) await storage.delete(key);
        throw error;
      });
      if (!isWanted) await storage.delete(key);
    } catch (error) {
      const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** file.tries);
      const forGood = error instanceof FileTooLarge || error instanceof NoRoom;
      const tryAt = !forGood && file.tries + 1 < MAX_TRIES ? fromNow(wait) : null;
      logger.warn(
        { workspaceId, attachmentId: file.id, tries: file.tries + 1, error },
        'a file could not be fetched',
      );
      const failure = forGood ? error.message : 'the carrier did not return the file';
      await tenant((db) => markFetchFailed(db, file.id, { failure, tryAt }));
    }
  }

  return {
    /** Fetches the files of replies and the recordings of calls, and emits the event of each reply with its first files. */
    async fetchReplyAttachments({ workspaceId }: { workspaceId: string }): Promise<Round> {
      const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
        withTenant(pools, workspaceId, work);
      return repeatFor(ROUND_MS, 'there are more files to fetch', async () => {
        const due = await tenant((db) => dueAttachments(db, currentTime(), BATCH));
        const fetched = Promise.all(due.map((file) => fetchFile(workspaceId, file)));
        await Promise.race([fetched, pause(MAX_WAIT_MS, undefined, { ref: false })]);
        await tenant((db) => emitReplyEvents(db, { links, now: currentTime() }));
        await fetched;
        if (due.length > 0) return null;
        return decide(pools, workspaceId, attachmentFetcherId(workspaceId), lookAtFiles);
      });
    },
  };
}

async function lookAtFiles(db: TenantDb): Promise<Look> {
  const nextAt = await nextAttachmentAt(db);
  return {
    nextAt,
    reason: nextAt === null ? 'every file is fetched' : 'some files could not be fetched yet',
  };
}
