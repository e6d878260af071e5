/** How far the clock of the workspace in test mode is ahead of the browser's, in milliseconds; negative: behind. */
let aheadMs = 0;

export function setAhead(ms: number): void {
  aheadMs = ms;
}

/** The time by which the workspace decides: the browser's, or in test mode that of its clock. */
export const workspaceNow = (): Date => new Date(Date.now() + aheadMs);

/** The time by which the workspace decides, for the API: the server's, or in test mode that of its clock. */
export const decidingNow = (serverNow: Date): Date => (aheadMs === 0 ? serverNow : workspaceNow());

/** What a clock in a zone shows: `2026-05-12T09:00:00`. */
const clockIn = (zone: string, at: number | Date): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    .format(at)
    .replace(' ', 'T');

/** What a clock in a zone shows, to the minute: `2026-05-12T09:00`. */
export const localIn = (zone: string, at: Date): string => clockIn(zone, at).slice(0, 16);

/** The moment at which a clock in a zone shows a time: `2026-05-12T09:00`. */
export function momentIn(zone: string, local: string): Date {
  const aheadOf = (at: number): number => Date.parse(`${clockIn(zone, at)}Z`) - at;
  const asUtc = Date.parse(`${local}Z`);
  // The offset of about that time; again, since the clock may have been put forward between the two.
  return new Date(asUtc - aheadOf(asUtc - aheadOf(asUtc)));
}
