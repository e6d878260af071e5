import { z } from 'zod';

/** An address that does not want to hear from the workspace. */
export const OptOut = z
  .object({
    address: z.string().meta({ example: '+14155550123' }),
    source: z.string().meta({ description: '`reply`, `unsubscribe`, `carrier` or `api`.' }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'OptOut' });
export type OptOut = z.infer<typeof OptOut>;

export type OptOutSource = 'reply' | 'unsubscribe' | 'carrier' | 'api';

const STOP = new Set(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT']);
const START = new Set(['START', 'UNSTOP', 'YES']);

export type Keyword = 'stop' | 'start';

/**
 * What a reply says about hearing from us, when that is all it says: one word, or several of the same meaning, in any
 * case and with any punctuation, beside a signature or quoted text.
 */
export function optOutKeyword(text: string): Keyword | null {
  const own = ownText(text.normalize('NFKC').replaceAll(/\p{DI}/gu, ''));
  // Words are also written apart and with signs in between: `opt-out`, `Stop all`.
  const words = own?.toUpperCase().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];
  if (words.length === 0) return null;
  const saysOnly = (vocabulary: ReadonlySet<string>): boolean =>
    vocabulary.has(words.join('')) || words.every((word) => vocabulary.has(word));
  if (saysOnly(STOP)) return 'stop';
  return saysOnly(START) ? 'start' : null;
}

/** Whoever writes more than this says something else beside a word. */
const LONGEST = 200;

/** What the contact wrote themselves: without quoted lines, and what mail programs add. null when it is long. */
function ownText(text: string): string | null {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => line.trim());
  let own = '';
  for (const [index, line] of lines.entries()) {
    if (line === '' || line.startsWith('>')) continue;
    // Above what they wrote, where some programs quote, such a line says nothing; below, the rest is not theirs.
    if (!introducesOthers(lines.slice(index, index + 3))) own = `${own} ${line}`.trim();
    else if (own !== '') break;
    if (own.length > LONGEST) return null;
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
/** No mail program makes a longer line of these. */
const LONGEST_LINE = 300;

/** Whether a signature or what somebody else wrote begins here; the line before a quotation may be folded. */
function introducesOthers(lines: readonly string[]): boolean {
  const [line = ''] = lines;
  if (line.length > LONGEST_LINE) return false;
  if ([DIVIDER, SIGNATURE, CLOSING, HEADER, FORWARDED].some((pattern) => pattern.test(line))) return true;
  return lines.some((_, folds) => {
    const unfolded = lines.slice(0, folds + 1).join(' ');
    const begins = folds === 0 || /^(?:on|am|le|el|il|em|op) .*\d/i.test(line);
    return begins && unfolded.length <= LONGEST_LINE && /: ?$/.test(unfolded) && ATTRIBUTION.test(unfolded);
  });
}
