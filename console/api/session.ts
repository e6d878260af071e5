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
const listeners = new Set<(change: Change) => void>();
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

/** What a change does to the page: another one is shown, it is hidden since its session ended by itself, or it goes on. */
type Change = 'replaced' | 'ended' | 'resumed';

let ended: Session | null = null;
let pages = 0;

/** The last session of the tab, if it ended by itself rather than by the user. Its page is hidden until somebody signs in. */
export const endedSession = (): Session | null => ended;

/** The number of the page that is shown or hidden. */
export const pageNumber = (): number => pages;

/** Signs in, switches the workspace, or with null signs out. */
export function setSession(next: Session | null, change: Change = 'replaced'): void {
  ended = change === 'ended' ? session : null;
  if (change === 'replaced') pages += 1;
  session = next;
  try {
    if (next) sessionStorage.setItem(STORED, JSON.stringify(next));
    else sessionStorage.removeItem(STORED);
  } catch {
    // Storage is blocked: signed in until the page is left.
  }
  for (const listener of listeners) listener(change);
}

/** Calls the listener after each sign-in, sign-out and switch of the workspace. @returns a function that ends the calls. */
export function onSessionChange(listener: (change: Change) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSession = (): Session | null => useSyncExternalStore(onSessionChange, currentSession);
