/** A file in storage as a link names it. */
export interface StoredFile {
  workspaceId: string;
  attachmentId: string;
  /** At the end of the link, for whoever saves what it fetches. */
  name: string;
}

export interface FileLinks {
  sign(file: StoredFile, expires: Date): string;
  /** The same address without a signature: it answers 403. */
  raw(file: StoredFile): string;
}

export interface LinkReader {
  /** The file that a signed link names, however it is spelled; null when it is not ours, was changed or has expired. */
  open(link: string, now: Date): StoredFile | null;
  /** As `open`, for a link that was found valid before: neither signature nor end are looked at. */
  named(link: string): StoredFile | null;
}

/** How long the link to an upload is valid. */
export const UPLOAD_LINK_DAYS = 365;
/** How long the links to a reply's files are valid. */
export const REPLY_LINK_DAYS = 30;

/** How long a carrier may fetch a file after it was handed the message. */
export const CARRIER_LINK_DAYS = 7;

const DAY_MS = 86_400_000;

/**
 * When a link made now ends: at least `days` later, in whole days after the file came, so that the link in an
 * event and the one read from the API soon after are the same.
 */
export function linkExpiry(createdAt: Date, now: Date, days: number): Date {
  const age = Math.max(0, Math.floor((now.getTime() - createdAt.getTime()) / DAY_MS));
  return new Date(createdAt.getTime() + (age + 1 + days) * DAY_MS);
}

/** When an upload may be deleted: its link has ended, and so has what a carrier got in the link's last minute. */
export const uploadKeptUntil = (createdAt: Date): Date =>
  new Date(linkExpiry(createdAt, createdAt, UPLOAD_LINK_DAYS).getTime() + (CARRIER_LINK_DAYS + 1) * DAY_MS);

/** Messages name files by their links, which must not become too long for that. */
const LINK_NAME_LENGTH = 100;

/** A file's name as it stands in its link: the end of a long one. */
export const linkName = (name: string): string => Array.from(name).slice(-LINK_NAME_LENGTH).join('');
