/** A stored file, as a link identifies it. */
export interface StoredFile {
  workspaceId: string;
  attachmentId: string;
  /** The last segment of the link, which clients use as the file name. */
  name: string;
}

export interface FileLinks {
  sign(file: StoredFile, expires: Date): string;
  /** The same URL without a signature, which responds 403. */
  raw(file: StoredFile): string;
}

export interface LinkReader {
  /** The file of a signed link, however it is URL-encoded; null if the link is foreign, tampered with or expired. */
  open(link: string, now: Date): StoredFile | null;
  /** Like `open`, for a link that was verified before: checks neither signature nor expiry. */
  openUnverified(link: string): StoredFile | null;
}

/** Validity of the link to an upload. */
export const UPLOAD_LINK_DAYS = 365;
/** Validity of the links to a reply's files. */
export const REPLY_LINK_DAYS = 30;

/** How long a carrier may fetch the files of a message. */
export const CARRIER_LINK_DAYS = 7;

const DAY_MS = 86_400_000;

/**
 * When a link signed now expires: at least `days` from now, rounded up to whole days since the file was created, so
 * that links signed on the same day are identical.
 */
export function linkExpiry(createdAt: Date, now: Date, days: number): Date {
  const age = Math.max(0, Math.floor((now.getTime() - createdAt.getTime()) / DAY_MS));
  return new Date(createdAt.getTime() + (age + 1 + days) * DAY_MS);
}

/** When an upload may be deleted: its link has expired, and so has a carrier link signed just before that. */
export const uploadKeptUntil = (createdAt: Date, linkDays: number): Date =>
  new Date(linkExpiry(createdAt, createdAt, linkDays).getTime() + (CARRIER_LINK_DAYS + 1) * DAY_MS);

/** The maximum length of a file name in a link. Messages refer to files by links, which must not become too long. */
const LINK_NAME_LENGTH = 100;

/** The file name in a link: the end of the name if it is long. */
export const linkName = (name: string): string => Array.from(name).slice(-LINK_NAME_LENGTH).join('');
