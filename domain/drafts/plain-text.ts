import { normalize } from '../base/text.ts';

/** In characters of what a contact wrote since the last answer. */
const MAX_JUDGED = 8000;

/** In lower case and without accents, as rules about words are written. */
export const plainText = (text: string): string =>
  normalize(text, 'NFD', MAX_JUDGED).replaceAll(/\p{M}/gu, '').toLowerCase();
