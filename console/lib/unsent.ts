import { useRef, useState, useSyncExternalStore } from 'react';
import { useIdentity } from '#console/api/workspace.ts';

const PREFIX = 'linepace.unsent ';
const texts = stored();
const listeners = new Set<() => void>();

/** What was written before the tab was loaded again. */
function stored(): Map<string, string> {
  const found = new Map<string, string>();
  try {
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(PREFIX)) found.set(key, sessionStorage.getItem(key) ?? '');
  } catch {
    // Storage is blocked: texts are kept until the page is left.
  }
  return found;
}

/** @param storable what of it may be stored; the rest is kept until the tab is loaded again. */
function store(key: string, text: string | null, storable = text): void {
  if (text === null) texts.delete(key);
  else texts.set(key, text);
  try {
    if (storable === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, storable);
  } catch {
    // Blocked or full.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

interface Unsent {
  /** null: nothing is being written. */
  text: string | null;
  /** The text at the moment of the call, also after the component is gone. */
  current(): string | null;
  change(text: string | null): void;
}

/**
 * What somebody has written and not sent or saved, by the name of its editor. It belongs to the workspace and the user, or whoever has
 * a key of the workspace. It survives reloads, the end of the session and switches of the workspace, and ends when the user signs out or
 * closes the tab.
 */
export function useUnsent(editor: string): Unsent {
  const key = useKey(editor);
  const current = (): string | null => texts.get(key) ?? null;
  return { text: useSyncExternalStore(subscribe, current), current, change: (text) => store(key, text) };
}

function useKey(editor: string): string {
  const { workspace, caller } = useIdentity();
  const writer = caller.type === 'key' ? 'key' : caller.id;
  return `${PREFIX}${workspace._id} ${writer} ${editor}`;
}

/** What somebody has changed in a form, and what it shows. */
export interface Edits<T> {
  values: T;
  /** Only what differs from what is stored. */
  edits: Partial<T>;
  /** May be called after the component is gone, for what takes a while. */
  change(part: Partial<T> | ((now: T) => Partial<T>)): void;
  isChanged: boolean;
  /** Whether some was changed before the component was shown, and is not saved. */
  isKept: boolean;
  /** Shows what is stored. */
  discard(): void;
  /** Called once they are saved: what is shown stays, and is not kept. */
  forget(): void;
}

/**
 * The edits of what is stored, or of an empty form, kept like `useUnsent`; `KeptForm` shows them. Fields that nobody has edited stay as
 * they are stored, because somebody else may change them meanwhile.
 * @param storable what survives a reload. Default: all of it; secrets should not.
 */
export function useEdits<T extends object>(
  editor: string,
  stored: T,
  storable: (values: T) => T = (values) => values,
): Edits<T> {
  const key = useKey(editor);
  const [kept] = useState(() => editsOf(texts.get(key)) as Partial<T> | null);
  const [edits, setEdits] = useState<Partial<T>>(kept ?? {});
  const latest = useRef(edits);
  const show = (next: Partial<T>): void => {
    latest.current = next;
    setEdits(next);
    if (Object.keys(next).length === 0) return store(key, null);
    const lasting = differing(storable({ ...stored, ...next }), stored);
    store(key, JSON.stringify(next), JSON.stringify(lasting));
  };
  const isChanged = Object.keys(differing(edits, stored)).length > 0;
  return {
    values: { ...stored, ...edits },
    edits: differing(edits, stored),
    change(part) {
      const now = { ...stored, ...latest.current };
      show(differing({ ...latest.current, ...(typeof part === 'function' ? part(now) : part) }, stored));
    },
    isChanged,
    isKept: kept !== null && isChanged,
    discard: () => show({}),
    forget: () => store(key, null),
  };
}

const differing = <T extends object>(edits: Partial<T>, stored: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(edits).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name as keyof T]),
    ),
  ) as Partial<T>;

function editsOf(text: string | undefined): unknown {
  try {
    return text === undefined ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** Called when the user signs out, not when a session ends by itself. */
export function forgetUnsent(): void {
  for (const key of texts.keys()) store(key, null);
}
