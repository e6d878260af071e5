import { t } from '@lingui/core/macro';
import { useSyncExternalStore } from 'react';

const STORED = 'linepace.notifications';
const listeners = new Set<() => void>();

const isSupported = (): boolean => 'Notification' in globalThis && 'locks' in navigator;

/** Whether this browser shows notifications of new messages: somebody has turned them on, and the browser allows it. */
export const notifies = (): boolean =>
  isSupported() && Notification.permission === 'granted' && localStorage.getItem(STORED) === 'on';

export const useNotifies = (): boolean =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    // Another tab has changed it.
    window.addEventListener('storage', listener);
    return () => {
      listeners.delete(listener);
      window.removeEventListener('storage', listener);
    };
  }, notifies);

/**
 * Turns notifications on or off for this browser. The browser may ask for permission, so only a click may call it.
 * @returns why they cannot be turned on; null: done.
 */
export async function setNotifies(on: boolean): Promise<string | null> {
  if (on) {
    if (!isSupported()) return t`This browser shows no notifications of this site.`;
    if ((await Notification.requestPermission()) !== 'granted')
      return t`The browser blocks notifications of this site. Allow them in its settings first.`;
  }
  localStorage.setItem(STORED, on ? 'on' : 'off');
  for (const listener of listeners) listener();
  return null;
}
