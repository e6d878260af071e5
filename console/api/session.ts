import { useSyncExternalStore } from 'react';

/** How this tab is signed in. */
export interface Session {
  /** A workspace key or a session token; null: the session of a cookie, which no script can read. */
  token: string | null;
  /** The id of the cookie's session. */
  sessionId?: string;
  /** The client's workspace that somebody of an agency has switched to; null: the one of the token. */
  workspaceId: string | null;
  /** The workspace that was shown first, which need not be a client of the agency; absent until another one is shown. */
  first?: { _id: string; name: string };
}

const STORED = 'linepace.session';
const listeners = new Set<() => void>();
let session = stored();

/** It survives a reload of the tab and ends with the tab; nothing else can read it later. */
function stored(): Session | null {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? 'null') as Session | null;
  } catch {
    return null;
  }
}

export const currentSession = (): Session | null => session;

let hasEnded = false;

/** Whether the last session of the tab ended by itself, rather than by the user. */
export const hasSessionEnded = (): boolean => hasEnded;

/** Signs in, switches the workspace, or with null signs out. @param ended it is not the user who ends the session. */
export function setSession(next: Session | null, { ended = false } = {}): void {
  session = next;
  hasEnded = ended;
  try {
    if (next) sessionStorage.setItem(STORED, JSON.stringify(next));
    else sessionStorage.removeItem(STORED);
  } catch {
    // Storage is blocked: signed in until the page is left.
  }
  for (const listener of listeners) listener();
}

/** Calls the listener after each sign-in, sign-out and switch of the workspace. @returns a function that ends the calls. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSession = (): Session | null => useSyncExternalStore(onSessionChange, currentSession);
