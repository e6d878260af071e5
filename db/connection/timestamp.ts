/** Stands for `infinity`, which has no Date: the largest Date. */
export const NEVER = new Date(8_640_000_000_000_000);

export function parseTimestamp(text: string): Date {
  return text === 'infinity' ? NEVER : new Date(text);
}

/** Formats a time as a query parameter. */
export const formatTimestamp = (at: Date): string =>
  at.getTime() >= NEVER.getTime() ? 'infinity' : at.toISOString();
