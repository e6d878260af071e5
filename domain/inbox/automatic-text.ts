import { LANGUAGE_CODES, LANGUAGES } from '../base/languages.ts';
import { normalize } from '../base/text.ts';

/*
 * Is it automatic? Phones answer texts for somebody who drives, or who receives no notifications.
 */

/** Phones send two or three sentences. */
const MAX_TEXT = 400;
const MAX_SENTENCES = 4;

const whole = (source: string): RegExp => new RegExp(`^(?:${source})$`, 'iu');
const SENTENCES = LANGUAGE_CODES.map((code) => {
  const { silenced, driving, later, label } = LANGUAGES[code].automatic;
  return {
    silenced: whole(silenced),
    driving: whole(driving),
    later: whole(later),
    // A question asks whether it is one.
    label: new RegExp(`^[^\\p{L}\\p{N}]{0,4}${label}(?![\\p{L}\\p{N}])(?![^.!\\n。]*[?？])`, 'iu'),
  };
});

/** Everything but letters and digits is a space; ideographic sentences have few spaces. */
const plain = (sentence: string): string =>
  sentence
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase();

/**
 * Whether a text consists of the sentences that phones send by themselves, or begins with "Auto-reply:", in the languages of
 * `languages.ts`. Somebody who adds a sentence of their own wrote it.
 */
export function isAutomaticText(text: string): boolean {
  if (text.length > MAX_TEXT) return false;
  const readable = normalize(text, 'NFKC', MAX_TEXT);
  // Quotation marks surround the names of modes.
  const sentences = readable
    .split(/[.!?。！？\n]+| [-–—] /)
    .map(plain)
    .filter(Boolean);
  if (sentences.length === 0 || sentences.length > MAX_SENTENCES) return false;
  return SENTENCES.some(({ silenced, driving, later, label }) => {
    if (label.test(readable)) return true;
    const isAll = sentences.every(
      (sentence) => silenced.test(sentence) || driving.test(sentence) || later.test(sentence),
    );
    if (!isAll) return false;
    const about = (pattern: RegExp): boolean => sentences.some((sentence) => pattern.test(sentence));
    // "I'm driving" alone, or "I'll read it later", may be typed.
    return (
      about(silenced) ||
      (about(driving) && about(later)) ||
      (sentences.length > 1 && sentences.every((sentence) => later.test(sentence)))
    );
  });
}
