/** Reads a date, or a date and a time, of ISO 8601. A date without a time is its beginning in UTC. @returns null for another text. */
export const dateOf = (text: string): Date | null => {
  const written = text.trim();
  const isDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(
    written,
  );
  if (!isDate || !exists(written.slice(0, 10))) return null;
  const at = new Date(withZone(written));
  return Number.isNaN(at.getTime()) ? null : at;
};

/** The language reads 2026-02-30 as 2 March. */
function exists(day: string): boolean {
  const at = new Date(day);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}

/** A time without a zone is in UTC. */
const withZone = (text: string): string =>
  text.length > 10 && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? `${text}Z` : text;
