import { AsyncLocalStorage } from 'node:async_hooks';

/** Work that others watch, because it may hang. */
interface Watched {
  /** The value of `performance.now()` when it last got on. */
  at: number;
}

const scopes = new AsyncLocalStorage<Watched>();

/** To be called whenever work gets on: a database has answered, a part of a file has arrived. */
export function noteProgress(): void {
  const watched = scopes.getStore();
  if (watched) watched.at = performance.now();
}

/** @param work gets a function that returns for how many milliseconds it has made no progress. */
export function watchProgress<T>(work: (silentMs: () => number) => T): T {
  const watched: Watched = { at: performance.now() };
  return scopes.run(watched, () => work(() => performance.now() - watched.at));
}
