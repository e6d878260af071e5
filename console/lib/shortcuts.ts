import { useEffect, useRef } from 'react';

const STORED = 'linepace.shortcuts';
/** The second key of a sequence must follow within this time. */
const SEQUENCE_MS = 1200;

/** Whether single keys act: whoever dictates or uses a switch may turn them off. */
export const shortcutsEnabled = (): boolean => localStorage.getItem(STORED) !== 'off';
export const enableShortcuts = (enabled: boolean): void =>
  localStorage.setItem(STORED, enabled ? 'on' : 'off');

/** `j`, `Enter`, `g i` for a sequence, `mod+k` for Ctrl or Command. */
type Keys = Record<string, (event: KeyboardEvent) => void>;

let pending = '';
let pendingSince = 0;

function nameOf(event: KeyboardEvent): string {
  return event.ctrlKey || event.metaKey ? `mod+${event.key.toLowerCase()}` : event.key;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Dialogs keep their keys to themselves. */
const isModal = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('[role="dialog"], [role="menu"]') !== null;

/** Acts on keys while the component is shown. Single keys do nothing while somebody types or a dialog is open. */
export function useShortcuts(keys: Keys): void {
  const current = useRef(keys);
  useEffect(() => {
    current.current = keys;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return;
      const name = nameOf(event);
      const isCommand = name.startsWith('mod+');
      if (!isCommand && (isTyping(event.target) || isModal(event.target) || !shortcutsEnabled())) return;
      const sequence = event.timeStamp - pendingSince < SEQUENCE_MS ? `${pending} ${name}` : name;
      const action = current.current[sequence] ?? current.current[name];
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}

// Last, so that all listeners see the key before.
window.addEventListener('keydown', (event) => {
  queueMicrotask(() => {
    if (isTyping(event.target) || event.key.length !== 1) return;
    pending = event.key;
    pendingSince = event.timeStamp;
  });
});
