/** Truncates to at most `length` UTF-16 code units without splitting a surrogate pair. */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = text.codePointAt(length - 1) ?? 0;
  return text.slice(0, end > 0xffff ? length - 1 : length);
}

/** Whether a text has more characters than `length`. A surrogate pair is one character, as in zod and PostgreSQL. */
export const isLonger = (text: string, length: number): boolean =>
  text.length > length && (text.length > 2 * length || Array.from(text).length > length);

/** Removes NUL and replaces lone surrogates, which PostgreSQL cannot store in a text. */
export const toStorable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** Why a text cannot be stored unchanged, or null. */
export function textProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not contain the NUL character';
  return text.isWellFormed() ? null : 'must be well-formed Unicode';
}

/**
 * A text in one line: each run of white space that contains a line break or another control character becomes one space. For `overwrite`
 * of names, subjects and the like, which are used in headers and file names.
 */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\s\p{Cc}]+/gu, (run) => (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(run) ? ' ' : run));

/** Composition makes no text longer than this (https://www.unicode.org/faq/normalization.html#12). */
const MAX_GROWTH = 3;

/**
 * A text with its accents in the letters, as keyboards write them: some programs decompose `ö` into two characters, and names that look
 * the same are the same.
 */
export const composed = (text: string): string =>
  /[^\0-\x7F]/.test(text) ? normalize(text, 'NFC', text.length * MAX_GROWTH) : text;

/**
 * What nobody sees, and copying, spreadsheets and mail programs leave in texts: what Unicode says to ignore (`Default_Ignorable_Code_Point`),
 * but not the variation selectors, which choose how a character looks.
 */
export const INVISIBLE = /(?!\p{Variation_Selector})\p{DI}/u;
const ALL_INVISIBLE = new RegExp(INVISIBLE, 'gu');

/** For comparisons: joiners in emoji and words are lost as well. */
export const withoutInvisible = (text: string): string => text.replaceAll(ALL_INVISIBLE, '');

/** The name of a field as somebody would type it, whatever a file has in it that looks the same. */
export const typedName = (name: string): string =>
  withoutInvisible(composed(oneLine(name)))
    .replaceAll(/\p{Zs}/gu, ' ')
    .trim();

/**
 * A name without marks that turn or embed what follows: `invoice\u202Efdp.exe` is shown as `invoiceexe.pdf`, and a name can turn the text
 * around it. The marks of right-to-left names, which turn nothing else, stay.
 */
export const withoutTurns = (name: string): string => name.replaceAll(/[\u202A-\u202E\u2066-\u2069]/g, '');

/** Arguments for `refine`. For multi-line text. */
export const LINES = [
  (text: string): boolean => !/[^\P{Cc}\t\n\r]/u.test(text),
  'must not contain control characters',
] as const;

/** Whether a text has no visible characters. */
export const isBlank = (text: string): boolean => /^[\p{White_Space}\p{Cc}\p{Cf}\p{DI}\u2800]*$/u.test(text);

/** Arguments for `refine`. */
export const NOT_BLANK = [(text: string): boolean => !isBlank(text), 'must not be blank'] as const;

/** The limit of the Stream-Safe Text Format (https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format). */
const MAX_MARKS = 30;
const LONG_RUN = new RegExp(String.raw`(\p{M}{${MAX_MARKS}})\p{M}+`, 'gu');

/**
 * Shortens runs of combining marks that no language has. Normalization sorts each run, in quadratic time.
 */
export const shortenMarks = (text: string): string => text.replaceAll(LONG_RUN, '$1');

/** `text.normalize(form)` of at most `max` UTF-16 code units, in linear time. A text that becomes longer is truncated. */
export function normalize(text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD', max: number): string {
  return truncate(shortenMarks(truncate(text, max)).normalize(form), max);
}
