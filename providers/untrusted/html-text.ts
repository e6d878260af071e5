import { convert } from 'html-to-text';

/** Longer HTML is truncated; the text of a reply is at its beginning. */
const MAX_HTML = 200_000;
/** The library takes quadratic time in the nesting depth. */
const MAX_OPEN = 2000;

const LIMITS = { maxDepth: 100, maxChildNodes: 20_000 };

/** A line that `own-words.ts` knows as the heading of a quotation. */
const HEADING = '-----Original Message-----';
/** The line above a signature (RFC 3676, section 4.3). */
const DIVIDER = '--';

/** Elements by which mail programs say what they have added. A program that receives such HTML may add a prefix to the ids. */
const STRUCTURE = {
  /** "On …, Ada wrote:". What follows is quoted. */
  heading: ['.gmail_attr', '.moz-cite-prefix', '#reply-intro'],
  /** The header of a quoted message. The rest of the email is quoted. */
  header: [
    '[id$="divRplyFwdMsg"]',
    '[id$="appendonsend"]',
    '[id$="stopSpelling"]',
    'hr[id="zwchr"]',
    '[class*="ms-outlook-mobile-reference-message"]',
    // Outlook for Windows and Mac
    'div[style*="border-top:solid #E1E1E1"]',
    'div[style*="border-top:solid #B5C4DF"]',
    'div[style*="border-top: 1pt solid rgb(225, 225, 225)"]',
    'div[style*="border-top: 1pt solid rgb(181, 196, 223)"]',
  ],
  /** What these contain is quoted. */
  quotation: [
    '[class$="yahoo_quoted"]',
    '.protonmail_quote',
    '.moz-forward-container',
    '.tutanota_quote',
    '.front-blockquote',
    '.freshdesk_quote',
    '.zmail_extra',
    '.mail_quote_block',
    '.mail-quote-collapse',
    '[id$="mail-editor-reference-message-container"]',
    '[id$="OLK_SRC_BODY_SECTION"]',
    '[id$="isReplyContent"]',
    '[id$="isForwardContent"]',
    '[id$="QQMailQuote"]',
    '[name="quote"]',
    '[name="messageReplySection"]',
    '[data-marker="__QUOTED_TEXT__"]',
  ],
  signature: [
    '.gmail_signature',
    '.moz-signature',
    '.protonmail_signature_block',
    '[id$="AppleMailSignature"]',
    '[id="Signature"]',
    '[id="x_Signature"]',
    '[id$="ms-outlook-mobile-signature"]',
    '[id$="ymail_android_signature"]',
    '[name="messageSignatureSection"]',
    '[data-marker="__SIG_PRE__"]',
    '[data-marker="__SIG_POST__"]',
  ],
};

/** The names of these elements, their classes and ids. */
const NAMES = Object.values(STRUCTURE)
  .flat()
  .map((selector) => /(?:[.#]|=")(?<name>[^"]+)/.exec(selector)?.groups?.['name'] ?? '');
const HAS_STRUCTURE = new RegExp(
  ['<blockquote', ...NAMES].map((name) => name.replaceAll(/[^\w-]/g, '.')).join('|'),
  'i',
);

/** Whether mail programs have marked in HTML what they added. */
export const hasStructure = (html: string): boolean => HAS_STRUCTURE.test(html.slice(0, MAX_HTML));

interface Builder {
  openBlock(options: { leadingLineBreaks: number }): void;
  closeBlock(options: { trailingLineBreaks: number }): void;
  addInline(text: string): void;
  options: { formatters: Record<string, Formatter> };
}
type Walk = (nodes: unknown, builder: Builder) => void;
type Formatter = (element: { children: unknown }, walk: Walk, builder: Builder, options: object) => void;

function addLine(builder: Builder, line: string): void {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addInline(line);
  builder.closeBlock({ trailingLineBreaks: 1 });
}

const formatters: Record<string, Formatter> = {
  heading: (_element, _walk, builder) => addLine(builder, HEADING),
  header(element, walk, builder) {
    addLine(builder, HEADING);
    builder.openBlock({ leadingLineBreaks: 1 });
    walk(element.children, builder);
    builder.closeBlock({ trailingLineBreaks: 1 });
  },
  quotation(element, walk, builder, options) {
    addLine(builder, HEADING);
    builder.options.formatters['blockquote']?.(element, walk, builder, options);
  },
  signature(element, walk, builder) {
    addLine(builder, DIVIDER);
    builder.openBlock({ leadingLineBreaks: 1 });
    walk(element.children, builder);
    builder.closeBlock({ trailingLineBreaks: 1 });
  },
};

const SELECTORS = [
  { selector: 'img', format: 'skip' },
  { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
  { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
  { selector: 'td', format: 'inlineSurround', options: { prefix: ' ', suffix: ' ' } },
  { selector: 'th', format: 'inlineSurround', options: { prefix: ' ', suffix: ' ' } },
  // The preview of newsletters.
  ...['[hidden]', '[style*="display:none"]', '[style*="display: none"]', '[style*="mso-hide:all"]'].map(
    (selector) => ({ selector, format: 'skip' }),
  ),
];
const STRUCTURED = [
  ...SELECTORS,
  ...Object.entries(STRUCTURE).flatMap(([kind, selectors]) =>
    selectors.map((selector) => ({ selector, format: `${kind}OfEmail` })),
  ),
];

/** Extracts the visible text of HTML. */
export const htmlToText = (html: string): string => toText(html, { selectors: SELECTORS });

/**
 * Extracts the visible text of the HTML of an email, in which what mail programs have marked as a quotation or as a signature begins
 * with a line that says so in a text.
 */
export const emailHtmlToText = (html: string): string =>
  toText(html, {
    selectors: STRUCTURED,
    formatters: Object.fromEntries(
      Object.entries(formatters).map(([kind, formatter]) => [`${kind}OfEmail`, formatter]),
    ),
  });

function toText(html: string, options: object): string {
  // An embedded image would use up the limit.
  const text = html.replaceAll(/data:[^"'\s<>)]{500,}/g, '').slice(0, MAX_HTML);
  const lines = convert(shallow(text), { wordwrap: false, limits: LIMITS, ...options });
  // Cells of tables.
  return lines.replaceAll(/(?<! ) +$|^ (?=\S)/gm, '').trim();
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
