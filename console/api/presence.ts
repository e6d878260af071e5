const AWAY_MS = 2 * 60_000;
const SIGNS = ['keydown', 'pointerdown', 'wheel', 'touchstart'];

let seenAt = performance.now();
for (const sign of SIGNS)
  addEventListener(sign, () => (seenAt = performance.now()), { capture: true, passive: true });

/** Whether nobody has used the page for a while, so that its requests do not prolong the session. */
export const isAway = (): boolean => performance.now() - seenAt > AWAY_MS;
