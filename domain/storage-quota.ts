import { UNPAID_TEST_BYTES } from './test-mode.ts';

/** A workspace's limits, in bytes. */
export interface StorageQuota {
  total: number;
  /** Per day (UTC). Deleting files does not restore it. */
  daily: number;
}

/** A workspace's usage, in bytes. */
export interface StorageUsage {
  total: number;
  today: number;
}

const GB = 1024 ** 3;

export const storageQuota = (gigabytes: number): StorageQuota => ({
  total: Math.floor(gigabytes * GB),
  daily: Math.floor((gigabytes * GB) / 10),
});

/** The quota in test mode of a workspace that is not paid for: as much a day as in all. */
export const unpaidTestQuota = ({ total }: StorageQuota): StorageQuota => {
  const bytes = Math.min(total, UNPAID_TEST_BYTES);
  return { total: bytes, daily: bytes };
};

/**
 * @param added bytes that are about to be stored.
 * @returns an error message if a limit is exceeded, else null.
 */
export function quotaExceeded(usage: StorageUsage, quota: StorageQuota, added = 0): string | null {
  if (usage.total + added > quota.total)
    return `The workspace exceeds its storage limit of ${size(quota.total)}`;
  if (usage.today + added > quota.daily)
    return `The workspace exceeds its storage limit of ${size(quota.daily)} per day; the next day starts at 00:00 UTC`;
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

/** When the next day of the quota starts. */
export const nextDay = (now: Date): Date =>
  new Date((Math.floor(now.getTime() / 86_400_000) + 1) * 86_400_000);
