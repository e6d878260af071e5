/** The beginning of a text, of at most `length` UTF-16 units; no character is cut in half. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = text.codePointAt(length - 1) ?? 0;
  return text.slice(0, end > 0xffff ? length - 1 : length);
}

/** PostgreSQL keeps neither NUL nor half of a surrogate pair in a text. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** Why a text cannot be kept as it is; null when it can. */
export function textProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not contain the NUL character';
  return text.isWellFormed() ? null : 'must be well-formed Unicode';
}

/** For `refine`: names, subjects and the like, which end up in headers and file names. */
export const SINGLE_LINE = [
  (text: string): boolean => !/\p{Cc}/u.test(text),
  'must not contain control characters',
] as const;

/** For `refine`: text that may have lines and tabs. */
export const LINES = [
  (text: string): boolean => !/[^\P{Cc}\t\n\r]/u.test(text),
  'must not contain control characters',
] as const;

/** Nothing that a reader would see: white space, control characters and those of no width. */
export const isBlank = (text: string): boolean => /^[\p{White_Space}\p{Cc}\p{Cf}\p{DI}\u2800]*$/u.test(text);
