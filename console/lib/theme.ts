import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const STORED = 'linepace.theme';
const listeners = new Set<() => void>();

const read = (): Theme => (document.documentElement.dataset['theme'] as Theme | undefined) ?? 'system';

/** `public/assets/theme.js` applies it before the first paint of later visits. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') {
    delete document.documentElement.dataset['theme'];
    localStorage.removeItem(STORED);
  } else {
    document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(STORED, theme);
  }
  for (const listener of listeners) listener();
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);

const DARK = '(prefers-color-scheme: dark)';
const systemQuery = matchMedia(DARK);

/** Whether it is dark, by the theme or else by the system, which may change while the page is open. */
export function useIsDark(): boolean {
  const theme = useTheme();
  const isSystemDark = useSyncExternalStore(
    (listener) => {
      systemQuery.addEventListener('change', listener);
      return () => systemQuery.removeEventListener('change', listener);
    },
    // A query of its own: in Chromium, one whose result was read before its event sends none.
    () => matchMedia(DARK).matches,
  );
  return theme === 'system' ? isSystemDark : theme === 'dark';
}
