import type { Storage } from '#providers/storage/storage.ts';

/**
 * Deletes a stored file whose transaction has failed. Keeps it if its row exists, or if that cannot be found out: the connection may have
 * been lost after the commit, and a retry of the request then gets the first response. A store that fails leaves the file behind: the
 * error of the transaction is the one to report.
 */
export async function deleteUnrecorded(
  storage: Pick<Storage, 'delete'>,
  key: string,
  isRecorded: () => Promise<boolean>,
): Promise<void> {
  if (!(await isRecorded().catch(() => true))) await storage.delete(key).catch(() => {});
}
