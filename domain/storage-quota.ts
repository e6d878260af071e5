/** How much a workspace may store, in bytes. */
export interface StorageQuota {
  total: number;
  /** Per day, UTC. What is deleted does not come back here. */
  daily: number;
}

/** What a workspace has stored, in bytes. */
export interface StorageUse {
  total: number;
  today: number;
}

const GB = 1024 ** 3;

export const storageQuota = (gigabytes: number): StorageQuota => ({
  total: Math.floor(gigabytes * GB),
  daily: Math.floor((gigabytes * GB) / 10),
});

/**
 * Which bound a use is beyond, as a person reads it; null while it is within both.
 * @param added bytes that are about to be stored.
 */
export function quotaExceeded(use: StorageUse, quota: StorageQuota, added = 0): string | null {
  if (use.total + added > quota.total) return `A workspace stores up to ${size(quota.total)} of files`;
  if (use.today + added > quota.daily)
    return `A workspace stores up to ${size(quota.daily)} of files a day; the next day begins at 00:00 UTC`;
  return null;
}

/** `20 GB`, `1.5 MB` */
function size(bytes: number): string {
  const [unit, name] = (
    [
      [GB, 'GB'],
      [1024 ** 2, 'MB'],
      [1024, 'KB'],
    ] as const
  ).find(([unit]) => bytes >= unit) ?? [1, 'bytes'];
  return `${Number((bytes / unit).toFixed(1))} ${name}`;
}
