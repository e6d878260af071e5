import { listen } from '#db/connection/listener.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';

/**
 * Caches the callers of workspace keys by the key's hash, so that a burst of requests with one key costs one lookup a second.
 * A change to a key or its workspace notifies every process (`notify_credentials`), which then drops its callers. Nothing is cached
 * while notifications cannot arrive.
 */
export interface CallerCache {
  /** @param lookUp finds the caller. A result of null is not cached. */
  find(hash: string, lookUp: () => Promise<WorkspaceCaller | null>): Promise<WorkspaceCaller | null>;
  /** Drops the callers of a workspace and of its twin, or all. Call it before the response to the request that changed them. */
  forget(workspaceId?: string): void;
  /** Calls `listener` after credentials, members or their workspaces have changed in the database. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

/** The longest time that a revoked key is accepted if a notification is lost. */
const LIFETIME_MS = 1000;
const MAX_CALLERS = 10_000;

export function createCallerCache(databaseUrl: string): CallerCache {
  const callers = new Map<string, { caller: WorkspaceCaller; until: number }>();
  // Incremented when callers are dropped, so that a lookup that started before does not restore them.
  let generation = 0;
  const forget = (workspaceId?: string): void => {
    generation += 1;
    if (workspaceId === undefined) callers.clear();
    else
      for (const [hash, { caller }] of callers) {
        const { id, liveWorkspaceId } = caller.workspace;
        if (id === workspaceId || liveWorkspaceId === workspaceId) callers.delete(hash);
      }
  };
  const listeners: (() => void)[] = [];
  const listener = listen(databaseUrl, 'credentials', () => {
    forget();
    for (const tell of listeners) tell();
  });

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
    onChange: (tell) => void listeners.push(tell),
    close: () => listener.close(),
  };
}
