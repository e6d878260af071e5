import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { inAllLanguages } from '../base/languages.ts';
import { belowSignature, isName, ownLines, withoutGreeting } from '../inbox/own-words.ts';
import { normalize } from '../base/text.ts';

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
 * Detects a reply that asks to stop, or to start again, with a keyword: its first line, or all of it, is nothing but keywords of
 * one meaning. Case, punctuation, quoted text and signatures are ignored, and thanks beside `STOP`, which may also be below a name.
 */
export function optOutKeyword(text: string): Keyword | null {
  const own = ownLines(text);
  const [first = ''] = own;
  const whole = own.join(' ');
  if (isStop(first) || isStop(whole)) return 'stop';
  // Some write below their name, or below the signature that their program has added.
  if (own.length <= MAX_NAMES && own.slice(0, -1).every(isName) && isPlainStop(own.at(-1))) return 'stop';
  if (isPlainStop(belowSignature(text))) return 'stop';
  return whole.length <= MAX_LENGTH && saysOnly(wordsOf(whole), START) ? 'start' : null;
}

/** Keywords that mean nothing else, in a line of their own. The others may be a part of what somebody writes. */
const PLAIN_STOP = new Set(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'OPTOUT']);
const isPlainStop = (line = ''): boolean => line.length <= MAX_LENGTH && saysOnly(wordsOf(line), PLAIN_STOP);

/** Lines of a name, with a position and a company. */
const MAX_NAMES = 6;

/** A longer reply is more than a keyword. */
const MAX_LENGTH = 200;

/** Capitals of Cyrillic and Greek that look like Latin ones. Phones mix them: `SΤΟΡ`. No word of those languages becomes a keyword. */
const LOOK_ALIKES = { from: 'АВСЕІКМНОРЅТУХΑΒΕΙΚΜΝΟΡΤΥΧ', to: 'ABCEIKMHOPSTYXABEIKMNOPTYX' };
const latinOf = (letter: string): string => LOOK_ALIKES.to[LOOK_ALIKES.from.indexOf(letter)] ?? letter;

const wordsOf = (text: string): string[] =>
  normalize(text, 'NFKC', MAX_LENGTH)
    .replaceAll(/\p{DI}/gu, '')
    .toUpperCase()
    .replaceAll(/[\p{Script=Cyrillic}\p{Script=Greek}]/gu, latinOf)
    .match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];

/** Joined as well, for `opt-out` and `Stop all`. */
const saysOnly = (words: readonly string[], vocabulary: ReadonlySet<string>): boolean =>
  words.length > 0 && (vocabulary.has(words.join('')) || words.every((word) => vocabulary.has(word)));

const THANKS = new RegExp(`(?<!\\S)(?:NO )?${inAllLanguages(({ thanks }) => thanks)}(?!\\S)`, 'giu');

/** Between scripts, of which one has no spaces: `STOP谢谢`. */
const BETWEEN_SCRIPTS = /(?<=\p{Script=Latin})(?=[\p{Script=Han}\p{Script=Hiragana}])/gu;
/** "STOP, Ada", "STOP -Ada" */
const SIGNED = /^(?<said>[^,–—-]{1,20})(?:,\s+|\s[–—-]\s*)(?<name>\p{Lu}[^,–—-]{0,40})$/u;

function isStop(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  const plain = withoutGreeting(text).replaceAll(BETWEEN_SCRIPTS, ' ');
  const words = wordsOf(plain);
  if (saysOnly(words, STOP)) return true;
  const without = words.join(' ').replaceAll(THANKS, '').split(' ').filter(Boolean);
  if (saysOnly(without, STOP)) return true;
  const { said = '', name = '' } = SIGNED.exec(plain.trim())?.groups ?? {};
  return saysOnly(wordsOf(said), PLAIN_STOP) && name !== name.toUpperCase() && isName(name);
}
