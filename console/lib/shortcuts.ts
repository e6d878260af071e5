import { useEffect, useLayoutEffect, useRef, useState } from 'react';

const STORED = 'linepace.shortcuts';
/** The second key of a sequence must follow within this time. */
const SEQUENCE_MS = 1200;
/** Whoever types goes on for a moment after live data has taken the field away. */
const STILL_TYPING_MS = 1000;
/** Nobody decides about what they have seen for less than this. */
const SEEN_MS = 500;

/** Whether single-key shortcuts are on. Users of speech input or switch devices can turn them off. */
export const shortcutsEnabled = (): boolean => localStorage.getItem(STORED) !== 'off';
export const enableShortcuts = (enabled: boolean): void =>
  localStorage.setItem(STORED, enabled ? 'on' : 'off');

/** `j`, `Enter`, `g i` for a sequence, `mod+k` for Ctrl or Command. */
type Keys = Record<string, (event: KeyboardEvent) => void>;

function nameOf(event: KeyboardEvent): string {
  return event.ctrlKey || event.metaKey ? `mod+${event.key.toLowerCase()}` : event.key;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Shortcuts do not apply while a dialog or a menu is open. The button of a menu has the focus until the menu is shown. */
const MODAL = '[role="dialog"], [role="menu"], [aria-haspopup="menu"][aria-expanded="true"]';
const isModal = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest(MODAL) !== null;

/** The keys of the shown components. The component that was shown last is at the end. */
const shown: { current: Keys }[] = [];
let first = '';
let firstAt = 0;
/** The field in which somebody last typed a character, and when they last typed one, be it into nothing. */
let typed: { field: EventTarget; at: number } | null = null;

/** Whether a key was meant for a field that is gone. */
function isMeantForField(event: KeyboardEvent, name: string): boolean {
  if (isTyping(event.target)) {
    typed = event.target && name.length === 1 ? { field: event.target, at: event.timeStamp } : null;
    return true;
  }
  if (typed === null || (typed.field as Node).isConnected) return false;
  const isStill = event.timeStamp - typed.at < STILL_TYPING_MS;
  typed = isStill ? { ...typed, at: event.timeStamp } : null;
  return isStill;
}

function listen(event: KeyboardEvent): void {
  const name = nameOf(event);
  const isCommand = name.startsWith('mod+');
  // Also of a key that the field has acted on: who chose with Enter in the command palette types no more.
  const isOfField = isMeantForField(event, name);
  if (event.defaultPrevented || event.altKey) return;
  if (!isCommand && (isOfField || isModal(event.target) || !shortcutsEnabled())) return;
  const sequence = event.timeStamp - firstAt < SEQUENCE_MS ? `${first} ${name}` : name;
  const of = (keys: string) => shown.findLast(({ current }) => current[keys])?.current[keys];
  const action = of(sequence) ?? of(name);
  // Modifiers come as keys of their own.
  if (name.length === 1) [first, firstAt] = [name, event.timeStamp];
  if (!action) return;
  event.preventDefault();
  first = '';
  action(event);
}

/** Acts on keys while the component is shown. Single keys do nothing while somebody types or a dialog is open. */
export function useShortcuts(keys: Keys): void {
  const current = useRef(keys);
  // Before the page is painted: a key that the page names may be pressed before other effects have run.
  useLayoutEffect(() => {
    current.current = keys;
  });
  useLayoutEffect(() => {
    if (shown.length === 0) window.addEventListener('keydown', listen);
    shown.push(current);
    return () => {
      shown.splice(shown.indexOf(current), 1);
      if (shown.length === 0) window.removeEventListener('keydown', listen);
    };
  }, []);
}

/** Whether the component has been on the screen long enough for keys that do what cannot be taken back. */
export function useSeen(): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(true), SEEN_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSeen;
}
