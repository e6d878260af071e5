import { UNPAID_TEST_BYTES } from '../test-mode/test-mode.ts';

/** A workspace's limits, in bytes. */
export interface StorageQuota {
  total: number;
  /** Of uploads and imports per day (UTC), and as much again of what contacts send. Deleting files does not restore it. */
  daily: number;
}

/** A workspace's usage, in bytes. */
export interface StorageUsage {
  total: number;
  /** Uploads and imports. */
  today: number;
}

/** What contacts have sent, in bytes. */
export interface InboundUsage {
  /** Of everything in the workspace. */
  total: number;
  today: number;
  /** Of the contact; 0 if nobody can choose its size, as that of a recording. */
  ofContactToday: number;
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

/** The share of a day's budget for inbound files that one contact may use. */
const CONTACT_SHARE = 1 / 4;
/** The share of the whole quota that is kept for uploads. */
const UPLOAD_SHARE = 1 / 10;

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

/** Why a contact's file is not stored now. */
export interface NoInboundRoom {
  /** `total`: there is room when files are deleted. Otherwise, there is room on the next day. */
  limit: 'contact' | 'workspace' | 'total';
  message: string;
}

/**
 * Contacts have a budget a day, each of them and all together, apart from uploads, and leave a part of the whole quota to
 * uploads. A contact's first file of a day may exceed its budget, and so may the workspace's: otherwise a file larger than a
 * day's budget would wait forever.
 * @param used without the file.
 * @param added the bytes of the file; at least 1 while its size is unknown.
 */
export function inboundExceeded(
  used: InboundUsage,
  { total, daily }: StorageQuota,
  added: number,
): NoInboundRoom | null {
  const most = Math.floor(total * (1 - UPLOAD_SHARE));
  const ofContact = Math.floor(daily * CONTACT_SHARE);
  if (used.total + added > most)
    return { limit: 'total', message: `The files of contacts exceed the storage limit of ${size(most)}` };
  if (used.today > 0 && used.today + added > daily)
    return {
      limit: 'workspace',
      message: `The files of contacts exceed the limit of ${size(daily)} per day`,
    };
  if (used.ofContactToday > 0 && used.ofContactToday + added > ofContact)
    return {
      limit: 'contact',
      message: `The files of the contact exceed the limit of ${size(ofContact)} per day`,
    };
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
