import { listen } from '#db/listener.ts';
import type { WorkspaceCaller } from '#domain/caller.ts';

/**
 * The callers of workspace keys, by the hash of the key, so that a burst of requests with one key is one lookup a second.
 * A change to a key or its workspace notifies every process (migration 0370), which then forgets its callers. Nothing is
 * kept while notifications do not arrive.
 */
export interface CallerCache {
  /** @param lookUp finds the caller; null, or no such key, is not kept. */
  find(hash: string, lookUp: () => Promise<WorkspaceCaller | null>): Promise<WorkspaceCaller | null>;
  /** Forgets the callers of a workspace, or all, at once: the request that changed them must not be answered before. */
  forget(workspaceId?: string): void;
  close(): Promise<void>;
}

/** Should a notification be lost, a revoked key is refused after this time. */
const LIFETIME_MS = 1000;
const MAX_CALLERS = 10_000;

export function createCallerCache(databaseUrl: string): CallerCache {
  const callers = new Map<string, { caller: WorkspaceCaller; until: number }>();
  // Grows when something is forgotten, so that a lookup that began before does not bring it back.
  let generation = 0;
  const forget = (workspaceId?: string): void => {
    generation += 1;
    if (workspaceId === undefined) callers.clear();
    else
      for (const [hash, { caller }] of callers) if (caller.workspace.id === workspaceId) callers.delete(hash);
  };
  const listener = listen(databaseUrl, 'credentials', () => forget());

  return {
    async find(hash, lookUp) {
      const known = callers.get(hash);
      if (known && performance.now() < known.until) return known.caller;
      const began = generation;
      const until = performance.now() + LIFETIME_MS;
      const caller = await lookUp();
      if (caller && listener.isListening && began === generation) {
        if (callers.size >= MAX_CALLERS) callers.clear();
        callers.set(hash, { caller, until });
      }
      return caller;
    },
    forget,
    close: () => listener.close(),
  };
}
