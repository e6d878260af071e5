import { useSyncExternalStore } from 'react';

/** Whether changes arrive by themselves. */
let connected = false;
const listeners = new Set<() => void>();

const POLL_MS = 5000;

/**
 * How often a query reads again what may change at any time: not at all while events arrive, else every few seconds.
 * `useRead('GET /api/conversations', {}, { refetchInterval: useLiveInterval() })`
 */
export const useLiveInterval = (): number | false =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connected,
  )
    ? false
    : POLL_MS;
