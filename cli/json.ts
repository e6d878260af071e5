/** More characters than any file of the command line or answer of a server has. */
const MAX_LENGTH = 10_000_000;

/**
 * Parses JSON that others may have written: a file in somebody's folder, or the answer of a server. Nothing about its form is certain.
 * @returns undefined: it is too long, or no JSON.
 */
export function parseJson(text: string): unknown {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An object of JSON; null: the value is none. */
export const objectOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;

/** A text that is not empty; undefined: the field is none. */
export const textIn = (object: Record<string, unknown> | null, name: string): string | undefined => {
  const value = object && Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
};
