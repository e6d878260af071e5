import { convert } from 'html-to-text';

/**
 * Longer ones are read to here: the library's time grows with the square of how many elements are left open. What a
 * person reads in an answer stands at its beginning.
 */
const MAX_HTML = 200_000;

const LIMITS = { maxDepth: 100, maxChildNodes: 20_000 };

/** What a person reads in HTML. */
export function htmlToText(html: string): string {
  // An image in the text itself would take all the room.
  const text = html.replaceAll(/data:[^"'\s<>)]{500,}/g, '').slice(0, MAX_HTML);
  return convert(text, {
    wordwrap: false,
    limits: LIMITS,
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    ],
  }).trim();
}
