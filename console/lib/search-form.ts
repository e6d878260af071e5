const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** A text as searches compare it: without case and accents, as `search_form` of the database does. */
export const searchForm = (text: string): string =>
  text
    // Of short texts that the console has loaded or its user types: nobody else waits for it.
    // oxlint-disable-next-line no-restricted-properties
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter] ?? letter);

/** Whether every word of the searched text is the beginning of a word of the other. */
export function matchesWords(text: string, searched: string): boolean {
  const words = searchForm(text).split(/\s+/);
  return searchForm(searched)
    .split(/\s+/)
    .every((part) => words.some((word) => word.startsWith(part)));
}
