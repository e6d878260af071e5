import pLimit from 'p-limit';
import { systemDb } from '#db/connection/transactions.ts';
import {
  type ExpiredUpload,
  expiredUploads,
  forgetUploads,
  keepUploads,
  neededLinks,
} from '#db/queries/messages/upload-retention.ts';
import { storageKey } from '#providers/storage/storage.ts';
import type { Dependencies } from '../dependencies.ts';
import { ownFile } from '../sending/outbound-files.ts';

/** Uploads examined in one batch. */
const BATCH = 500;
const AT_ONCE = 8;

/**
 * Deletes expired uploads (`uploadKeptUntil`) that nothing needs any more, until none are left or `mayContinue` returns false.
 * Deletes files before rows, so that a crash leaves a row, which is found again.
 * @returns the number of deleted uploads.
 */
export async function deleteExpiredUploads(
  { pools, storage, links, logger }: Pick<Dependencies, 'pools' | 'storage' | 'links' | 'logger'>,
  mayContinue: () => boolean,
): Promise<number> {
  const db = systemDb(pools);
  const limit = pLimit(AT_ONCE);

  async function deleted({ workspaceId, id, noteId }: ExpiredUpload): Promise<boolean> {
    try {
      if (noteId !== null) await storage.delete(storageKey(workspaceId, noteId));
      await storage.delete(storageKey(workspaceId, id));
      return true;
    } catch (error) {
      logger.warn({ workspaceId, attachmentId: id, error }, 'an upload could not be deleted');
      return false;
    }
  }

  /** Uploads that are still needed are examined again tomorrow. */
  async function deleteUnneeded(workspaceId: string, uploads: readonly ExpiredUpload[]): Promise<number> {
    const needed = await neededLinks(db, workspaceId);
    const neededIds = new Set(needed.map((link) => ownFile(link, workspaceId, links)));
    const gone = new Set<string>();
    await limit.map(
      uploads.filter(({ id }) => !neededIds.has(id)),
      async (upload) => {
        if (await deleted(upload)) gone.add(upload.id);
      },
    );
    await forgetUploads(db, workspaceId, [...gone]);
    await keepUploads(
      db,
      workspaceId,
      uploads.flatMap(({ id }) => (gone.has(id) ? [] : [id])),
    );
    return gone.size;
  }

  let count = 0;
  for (let looked = BATCH; looked === BATCH && mayContinue();) {
    const expired = await expiredUploads(db, BATCH);
    looked = expired.length;
    for (const [workspaceId, uploads] of Map.groupBy(expired, (upload) => upload.workspaceId))
      count += await deleteUnneeded(workspaceId, uploads);
  }
  return count;
}
