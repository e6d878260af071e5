/** Those of Windows-1252 and Mac Roman that people's names and words have. */
const LETTER = /[A-Za-zÀ-ÖØ-öø-ÿŠšŽžŒœŸ]/;
const UPPER = /[A-ZÀ-ÖØ-ÞŠŽŒŸ]/;
const LOWER = /[a-zß-öø-ÿšžœ]/;
const DIGIT = /\d/;

/** Where an apostrophe is usual: d’Arc, O’Brien, qu’elle, Ada’s, don’t. */
const BEFORE_APOSTROPHE = /(^|[^A-Za-zÀ-ÿ])[A-Za-z]{1,2}$/;
const AFTER_APOSTROPHE = /^([A-Z]|(s|t|d|m|re|ve|ll)([^A-Za-zÀ-ÿ]|$))/;

/** Symbols that may stand alone, and beside digits. */
const SYMBOL = /[£¥§©®°±²³¹ªº¼½¾·¿¡¢¶•™«»\u00a0]/;

/**
 * How well the characters beyond ASCII fit where they are: each that does counts 1, each that does not −1. The same bytes read in another
 * encoding put capitals into words, or symbols between letters.
 */
export function plausibility(text: string): number {
  let sum = 0;
  for (const { 0: character, index } of text.matchAll(/[\u0080-\uffff]/g)) sum += fit(text, index, character);
  return sum;
}

function fit(text: string, at: number, character: string): number {
  const before = text[at - 1] ?? '';
  const after = text[at + 1] ?? '';
  const isBetween = LETTER.test(before) && LETTER.test(after);
  const isApart = !LETTER.test(before) && !LETTER.test(after);
  if (LOWER.test(character)) return UPPER.test(before) && UPPER.test(after) ? -1 : isApart ? 0 : 1;
  if (UPPER.test(character))
    return LOWER.test(before) || (LETTER.test(before) && LOWER.test(after)) ? -1 : isApart ? 0 : 1;
  switch (character) {
    case '’':
      if (!isBetween) return 1;
      return BEFORE_APOSTROPHE.test(text.slice(Math.max(0, at - 3), at)) ||
        AFTER_APOSTROPHE.test(text.slice(at + 1, at + 4))
        ? 1
        : -1;
    case '‘':
    case '“':
    case '„':
    case '‚':
      return LETTER.test(before) ? -1 : 1;
    case '”':
    case '…':
      return LETTER.test(after) ? -1 : 1;
    case '–':
    case '—':
      return isBetween ? -1 : 1;
    case '€':
      return DIGIT.test(before) || DIGIT.test(after) || isApart ? 1 : -1;
    default:
      return SYMBOL.test(character) && !isBetween ? 0 : -1;
  }
}
