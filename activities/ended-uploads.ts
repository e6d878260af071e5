import pLimit from 'p-limit';
import { systemDb } from '#db/pool.ts';
import {
  type EndedUpload,
  endedUploads,
  forgetUploads,
  keepUploads,
  neededLinks,
} from '#db/queries/upload-retention.ts';
import { storageKey } from '#providers/storage/storage.ts';
import type { Dependencies } from './dependencies.ts';
import { ownFile } from './outbound-files.ts';

/** Looked at in one minute. */
const BATCH = 500;
const AT_ONCE = 8;

/**
 * Deletes a batch of uploads that are past their time (`uploadKeptUntil`), but none that something still needs. The bytes
 * go first: what a crash leaves behind is a row, and that is found again.
 * @returns the number of uploads deleted.
 */
export async function deleteEndedUploads({
  pools,
  storage,
  links,
  logger,
}: Pick<Dependencies, 'pools' | 'storage' | 'links' | 'logger'>): Promise<number> {
  const db = systemDb(pools);
  const limit = pLimit(AT_ONCE);

  async function deleted({ workspaceId, id, noteId }: EndedUpload): Promise<boolean> {
    try {
      if (noteId !== null) await storage.delete(storageKey(workspaceId, noteId));
      await storage.delete(storageKey(workspaceId, id));
      return true;
    } catch (error) {
      logger.warn({ workspaceId, attachmentId: id, error }, 'an upload could not be deleted');
      return false;
    }
  }

  let count = 0;
  const ended = await endedUploads(db, BATCH);
  for (const [workspaceId, uploads] of Map.groupBy(ended, (upload) => upload.workspaceId)) {
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
    count += gone.size;
  }
  return count;
}
