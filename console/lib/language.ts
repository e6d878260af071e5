/**
 * Chromium in the POSIX locale calls its language `en-US@posix`. That is no language tag: `Intl` throws when uPlot passes it.
 */
export function correctLanguage(): void {
  try {
    new Intl.Locale(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US' });
  }
}
