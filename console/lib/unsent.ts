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
 * What somebody has written and not sent or saved, by the name of its editor. It belongs to the user and the workspace, survives
 * reloads, the end of the session and switches of the workspace, and ends when the user signs out or closes the tab.
 */
export function useUnsent(editor: string): Unsent {
  const key = useKey(editor);
  const current = (): string | null => texts.get(key) ?? null;
  return { text: useSyncExternalStore(subscribe, current), current, change: (text) => store(key, text) };
}

function useKey(editor: string): string {
  const { workspace, caller } = useIdentity();
  return `${PREFIX}${workspace._id} ${caller.id} ${editor}`;
}

export interface UnsentForm<T> {
  value: T;
  /** May be called after the component is gone, for what takes a while. */
  change(update: (current: T) => T): void;
  isChanged: boolean;
  /** Whether it was written before the component was shown. */
  isKept: boolean;
  /** Called once it is saved or discarded: what is shown stays, and is not kept. */
  forget(): void;
}

/**
 * A form, kept like `useUnsent` while it differs from what it begins with.
 * @param storable what survives a reload. Default: all of it; secrets should not.
 */
export function useUnsentForm<T extends object>(
  editor: string,
  saved: T,
  storable: (value: T) => T = (value) => value,
): UnsentForm<T> {
  const key = useKey(editor);
  const [kept] = useState(() => formOf(texts.get(key)) as T | null);
  const [value, setValue] = useState(kept ?? saved);
  const latest = useRef(value);
  const asText = JSON.stringify(saved);
  return {
    value,
    change(update) {
      latest.current = update(latest.current);
      setValue(latest.current);
      const text = JSON.stringify(latest.current);
      if (text === asText) store(key, null);
      else store(key, text, JSON.stringify(storable(latest.current)));
    },
    isChanged: JSON.stringify(value) !== asText,
    isKept: kept !== null,
    forget: () => store(key, null),
  };
}

const NO_EDITS = {};

const differing = <T extends object>(edits: Partial<T>, stored: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(edits).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name as keyof T]),
    ),
  ) as Partial<T>;

/**
 * The edits of what is stored, kept like `useUnsent`. Fields that nobody has edited stay as they are stored, because somebody else may
 * change them meanwhile.
 */
export function useEdits<T extends object>(editor: string, stored: T) {
  const edits = useUnsentForm<Partial<T>>(editor, NO_EDITS);
  const values: T = { ...stored, ...edits.value };
  return {
    values,
    change: (part: Partial<T>): void => edits.change((now) => differing({ ...now, ...part }, stored)),
    discard: (): void => edits.change(() => NO_EDITS),
    /** Called once they are saved. */
    forget: edits.forget,
    /** Whether some were made before the component was shown, and are not saved. */
    isKept: edits.isKept && JSON.stringify(values) !== JSON.stringify(stored),
  };
}

function formOf(text: string | undefined): unknown {
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
