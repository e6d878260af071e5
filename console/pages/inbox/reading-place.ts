/** Survives a reload of the tab. */
const STORED = 'linepace.reading';

/** Keeps which message of a conversation is in the middle of what is shown; null: its end is shown. */
export function keepReadingPlace(address: string, messageId: string | null): void {
  try {
    if (messageId === null) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, `${messageId} ${address}`);
  } catch {
    // Blocked or full: it opens at its end.
  }
}

/** The message that was kept, once. */
export function takeReadingPlace(address: string): string | null {
  try {
    const [messageId = '', ...kept] = (sessionStorage.getItem(STORED) ?? '').split(' ');
    sessionStorage.removeItem(STORED);
    return kept.join(' ') === address ? messageId : null;
  } catch {
    return null;
  }
}
