/** How often the use of a key or a session is written. */
const WRITE_EVERY_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/** When this process last recorded the use of keys or sessions, so that it does not write with every request. */
export function createRecentlyUsed() {
  const recordedAt = new Map<string, number>();
  return {
    /** Whether the use at `now`, in milliseconds, is to be recorded; if so, it counts as recorded. */
    isDue(id: string, now: number): boolean {
      if (now - (recordedAt.get(id) ?? 0) < WRITE_EVERY_MS) return false;
      if (recordedAt.size > MAX_REMEMBERED) recordedAt.clear();
      recordedAt.set(id, now);
      return true;
    },
  };
}
