import { convert } from 'html-to-text';

/** Longer HTML is truncated; the text of a reply is at its beginning. */
const MAX_HTML = 200_000;
/** The library takes quadratic time in the nesting depth. */
const MAX_OPEN = 2000;

const LIMITS = { maxDepth: 100, maxChildNodes: 20_000 };

/** Extracts the visible text of HTML. */
export function htmlToText(html: string): string {
  // An embedded image would use up the limit.
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

/** Elements without an end tag. */
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));

/** Truncates HTML where it is nested too deeply. */
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
