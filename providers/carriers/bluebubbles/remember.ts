const MAX_CACHED = 100_000;

/** Notes a time, and forgets the others before they are too many: they only save questions. */
export function remember(times: Map<string, number>, key: string, at: number): void {
  if (times.size >= MAX_CACHED) times.clear();
  times.set(key, at);
}
