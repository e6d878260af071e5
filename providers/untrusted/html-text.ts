import { convert } from 'html-to-text';

/** Longer ones are read to here: what a person reads in an answer stands at its beginning. */
const MAX_HTML = 200_000;
/** The library's time grows with the square of how many elements are open at once. */
const MAX_OPEN = 2000;

const LIMITS = { maxDepth: 100, maxChildNodes: 20_000 };

/** What a person reads in HTML. */
export function htmlToText(html: string): string {
  // An image in the text itself would take all the room.
  const text = html.replaceAll(/data:[^"'\s<>)]{500,}/g, '').slice(0, MAX_HTML);
  return convert(shallow(text), {
    wordwrap: false,
    limits: LIMITS,
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    ],
  }).trim();
}

/** They have no end. */
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));

/** HTML up to where too many elements are open, each of which an end tag of its name closes. */
function shallow(html: string): string {
  const open = new Map<string, number>();
  let depth = 0;
  for (const { 1: slash, 2: tag = '', index } of html.matchAll(/<(\/?)([a-z][^\s/>]*)/gi)) {
    const name = tag.toLowerCase();
    const ofName = open.get(name) ?? 0;
    const change = slash === '' ? 1 : ofName > 0 ? -1 : 0;
    if (VOID.has(name)) continue;
    open.set(name, ofName + change);
    depth += change;
    if (depth > MAX_OPEN) return html.slice(0, index);
  }
  return html;
}
