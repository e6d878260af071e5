/** Reads a date, or a date and a time, of ISO 8601. A date without a time is its beginning in UTC. @returns null for another text. */
export const dateOf = (text: string): Date | null => {
  const isDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(
    text.trim(),
  );
  const at = new Date(isDate ? withZone(text.trim()) : Number.NaN);
  return Number.isNaN(at.getTime()) ? null : at;
};

/** A time without a zone is in UTC. */
const withZone = (text: string): string =>
  text.length > 10 && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? `${text}Z` : text;
