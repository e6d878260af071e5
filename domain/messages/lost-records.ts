/** A period without records of what a line sent, because the database was restored to an earlier point. */
export interface LostRecords {
  from: Date;
  until: Date;
}

/** How long a carrier may take to send and to list a message. Lines send nothing before, because carriers could not answer yet. */
export const ON_ITS_WAY_MS = 180_000;

/** Callers may repeat lost requests until their idempotency keys expire. */
const REPEATED_FOR_MS = 24 * 3_600_000;

/**
 * When a message may have been sent without a record: it was accepted before the loss, or repeats a request that was lost.
 * @returns null if it cannot have been.
 */
export function lostSendOf(
  { lostFrom, lostUntil }: { lostFrom: Date | null; lostUntil: Date | null },
  message: { createdAt: Date },
): LostRecords | null {
  if (lostFrom === null || lostUntil === null) return null;
  if (message.createdAt.getTime() >= lostUntil.getTime() + REPEATED_FOR_MS) return null;
  return { from: lostFrom, until: lostUntil };
}
