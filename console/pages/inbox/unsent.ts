import { useSyncExternalStore } from 'react';
import { onSessionChange } from '#console/api/session.ts';

const texts = new Map<string, string>();
const listeners = new Set<() => void>();
onSessionChange(() => texts.clear());

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const unsentText = (address: string): string => texts.get(address) ?? '';

export function setUnsentText(address: string, text: string): void {
  texts.set(address, text);
  for (const listener of listeners) listener();
}

/** What was written to a contact and not sent, until the tab is closed or shows another workspace. */
export const useUnsentText = (address: string): string =>
  useSyncExternalStore(subscribe, () => unsentText(address));
