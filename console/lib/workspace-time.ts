/** How far the clock of the workspace in test mode is ahead of the browser's, in milliseconds; negative: behind. */
let aheadMs = 0;

export function setAhead(ms: number): void {
  aheadMs = ms;
}

/** The time by which the workspace decides: the browser's, or in test mode that of its clock. */
export const workspaceNow = (): Date => new Date(Date.now() + aheadMs);
