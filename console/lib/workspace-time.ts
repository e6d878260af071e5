/** How far the clock of the workspace in test mode is ahead of the browser's, in milliseconds; negative: behind. */
let aheadMs = 0;

export function setAhead(ms: number): void {
  aheadMs = ms;
}

/** The time by which the workspace decides: the browser's, or in test mode that of its clock. */
export const workspaceNow = (): Date => new Date(Date.now() + aheadMs);

/** The time by which the workspace decides, for the API: the server's, or in test mode that of its clock. */
export const decidingNow = (serverNow: Date): Date => (aheadMs === 0 ? serverNow : workspaceNow());

/** The moment at which a clock in a zone shows a time: `2026-05-12T09:00`. */
export function momentIn(zone: string, local: string): Date {
  const shown = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  const aheadOf = (at: number): number => Date.parse(`${shown.format(at).replace(' ', 'T')}Z`) - at;
  const asUtc = Date.parse(`${local}Z`);
  // The offset of about that time; again, since the clock may have been put forward between the two.
  return new Date(asUtc - aheadOf(asUtc - aheadOf(asUtc)));
}
