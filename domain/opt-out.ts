import { z } from 'zod';
import { Id } from './ids.ts';

/** An address that opted out of messages from the workspace. */
export const OptOut = z
  .object({
    address: z.string().meta({ example: '+14155550123' }),
    source: z.string().meta({
      description:
        '`reply`, `unsubscribe`, `carrier`, `complaint` (the contact reported an email as spam) or `api`.',
    }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'OptOut' });
export type OptOut = z.infer<typeof OptOut>;

export const OptOutSource = z.enum(['reply', 'unsubscribe', 'carrier', 'complaint', 'api']);
export type OptOutSource = z.infer<typeof OptOutSource>;

/** An opt-out or an opt-in, as it happened. */
export const OptOutChange = z
  .object({
    _id: Id,
    address: z.string(),
    change: z.enum(['opted_out', 'opted_in']),
    source: OptOutSource,
    at: z.iso.datetime(),
    replyId: Id.nullable().meta({ description: 'The reply in which the contact asked for it.' }),
    message: z.string().nullable().meta({ description: 'The text of that reply, while it is stored.' }),
  })
  .meta({ id: 'OptOutChange' });
export type OptOutChange = z.infer<typeof OptOutChange>;

const STOP = new Set(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT']);
const START = new Set(['START', 'UNSTOP', 'YES']);

/** The replies that opt a contact out or in by themselves. */
export const KEYWORDS = { optOut: [...STOP], optIn: [...START] };

export type Keyword = 'stop' | 'start';

/**
 * Detects a reply that consists only of an opt-out or opt-in keyword, or of several with the same meaning. Case,
 * punctuation, signatures and quoted text are ignored.
 */
export function optOutKeyword(text: string): Keyword | null {
  const own = ownText(text, MAX_LENGTH);
  // Joined as well, for `opt-out` and `Stop all`.
  const words = own?.toUpperCase().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];
  if (words.length === 0) return null;
  const saysOnly = (vocabulary: ReadonlySet<string>): boolean =>
    vocabulary.has(words.join('')) || words.every((word) => vocabulary.has(word));
  if (saysOnly(STOP)) return 'stop';
  return saysOnly(START) ? 'start' : null;
}

/** A longer reply is more than a keyword. */
const MAX_LENGTH = 200;

/** A reply without quoted text and what mail clients add; null if that is longer than `maxLength`. */
export function ownText(text: string, maxLength: number): string | null {
  const readable = text.normalize('NFKC').replaceAll(/\p{DI}/gu, '');
  const lines = readable.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => line.trim());
  let own = '';
  for (const [index, line] of lines.entries()) {
    if (line === '' || line.startsWith('>')) continue;
    // Such a line above the contact's own text is skipped, because some clients quote first; below it, the rest is not theirs.
    if (!startsQuoteOrSignature(lines.slice(index, index + 3))) own = `${own} ${line}`.trim();
    else if (own !== '') break;
    if (own.length > maxLength) return null;
  }
  return own;
}

const DIVIDER = /^[-\u2013\u2014_=*~]{2,}$/;
const SIGNATURE =
  /^(?:sent (?:from|via|with|using)|get outlook|gesendet (?:von|mit)|envoyé (?:de|depuis)|enviado (?:desde|do|de)|inviato da|verzonden (?:vanaf|met|via)) /i;
const CLOSING =
  /^(?:thanks|thank you|thx|cheers|best|(?:best |kind |warm )?regards|best wishes|sincerely|yours)(?: again| truly)?[ ,.!]*$/i;
const HEADER = /^(?:from|von|de|da|van) ?: /i;
const FORWARDED =
  /^-{2,} ?(?:original message|forwarded message|ursprüngliche nachricht)|^begin forwarded message:/i;
const ATTRIBUTION = /(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef)/i;
/** Mail clients do not write longer attribution lines. */
const MAX_LINE = 300;

/** Whether a signature or a quotation starts here. An attribution ("On …, Ada wrote:") may span three lines. */
function startsQuoteOrSignature(lines: readonly string[]): boolean {
  const [line = ''] = lines;
  if (line.length > MAX_LINE) return false;
  if ([DIVIDER, SIGNATURE, CLOSING, HEADER, FORWARDED].some((pattern) => pattern.test(line))) return true;
  return lines.some((_, folds) => {
    const unfolded = lines.slice(0, folds + 1).join(' ');
    const begins = folds === 0 || /^(?:on|am|le|el|il|em|op) .*\d/i.test(line);
    return begins && unfolded.length <= MAX_LINE && /: ?$/.test(unfolded) && ATTRIBUTION.test(unfolded);
  });
}
