/** `infinity` has no Date: the largest one stands for it. */
export const NEVER = new Date(8_640_000_000_000_000);

export function parseTimestamp(text: string): Date {
  return text === 'infinity' ? NEVER : new Date(text);
}

/** As a parameter of a query. */
export const formatTimestamp = (at: Date): string =>
  at.getTime() >= NEVER.getTime() ? 'infinity' : at.toISOString();
