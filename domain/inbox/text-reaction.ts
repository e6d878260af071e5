import { type Reaction, TAPBACKS } from '../lines/carrier-event.ts';
import { LANGUAGE_CODES, LANGUAGES, type Language, type ReactionWords } from '../base/languages.ts';
import { composed, INVISIBLE } from '../base/text.ts';
import { hasLetters, lettersOnly } from './own-words.ts';

/*
 * Is it a reaction? By SMS, phones report a reaction as a text: "Liked “See you at 8”", "Reacted 🔥 to an image".
 */

/** A reaction that somebody's phone reported as a text. */
export interface TextReaction {
  reaction: Reaction;
  /** The emoji of the reaction `emoji`. */
  emoji?: string;
  removed: boolean;
  /** What it is about: a quotation of the text, which may be truncated, or a file. */
  about: { quoted: string; isTruncated: boolean; isMarked: boolean } | 'file';
}

/** Longer texts are longer than the longest message that we send, with a quotation around it. */
const MAX_TEXT = 12_000;
/** The words around a quotation. */
const MAX_WORDS = 120;
/** The quotation is searched between the first and the last so many marks. */
const MAX_MARKS = 4;

const MARK = /[“”„‟"＂«»‹›「」『』《》〝〟‚‘’']/g;
/** Also within words, where they are no quotation marks. */
const APOSTROPHES = "’‘'‚";
/** A reaction may be an emoji that has some of them. */
const INVISIBLE_BETWEEN = new RegExp(`(?!\\p{Emoji_Component})${INVISIBLE.source}`, 'gu');
const SPACES = /[\s\u00A0\u2000-\u200A\u202F\u3000]+/g;
const ELLIPSIS = /(?:…|\.\.\.)$/u;

/** A reaction in marks: `「いいね！」`. */
const NAME = /[“”„"«»「」『』][^“”„"«»「」『』]{1,20}[“”"«»」』]/g;

const EMOJI = /\p{RGI_Emoji}|\p{Extended_Pictographic}\uFE0F?/gv;

const ROLES = [
  'sticker',
  'love',
  'dislike',
  'like',
  'laugh',
  'emphasize',
  'question',
  'removed',
  'reacted',
  'file',
  'not',
  'very',
  'one',
  'other',
] as const satisfies (keyof ReactionWords)[];
type Role = (typeof ROLES)[number];

interface Vocabulary {
  isSpaceless: boolean;
  one: RegExp | undefined;
  roles: { role: Role; pattern: RegExp }[];
}

const vocabularyOf = ({ reaction, isSpaceless }: Language): Vocabulary => ({
  isSpaceless: isSpaceless === true,
  one: reaction.one === undefined ? undefined : new RegExp(`^(?:${reaction.one})$`, 'iu'),
  roles: ROLES.flatMap((role) => {
    const words = reaction[role];
    // Without spaces, a word is searched where the previous one ended.
    return words === undefined
      ? []
      : [
          {
            role,
            pattern: new RegExp(isSpaceless ? `(?:${words})` : `^(?:${words})$`, isSpaceless ? 'iuy' : 'iu'),
          },
        ];
  }),
});
const VOCABULARIES = LANGUAGE_CODES.map((code) => vocabularyOf(LANGUAGES[code]));

/** What the words mean, if all of them are words of such messages in one language. */
function meaningIn({ isSpaceless, roles }: Vocabulary, words: string): Set<Role> | null {
  const found = new Set<Role>();
  if (!isSpaceless) {
    for (const word of words.split(' ')) {
      const role = word === '' ? 'other' : roles.find(({ pattern }) => pattern.test(word))?.role;
      if (role === undefined) return null;
      found.add(role);
    }
    return found;
  }
  for (let at = 0; at < words.length;) {
    let longest: { role: Role; length: number } = { role: 'other', length: words[at] === ' ' ? 1 : 0 };
    for (const { role, pattern } of roles) {
      pattern.lastIndex = at;
      const length = pattern.exec(words)?.[0].length ?? 0;
      if (length > longest.length) longest = { role, length };
    }
    if (longest.length === 0) return null;
    found.add(longest.role);
    at += longest.length;
  }
  return found;
}

type Meaning = Pick<TextReaction, 'reaction' | 'emoji' | 'removed'> & { isFile: boolean };

function meaningOf(around: string): Meaning | null {
  // A question or a wish is somebody's own.
  if (around.length > MAX_WORDS || /[?？!！¿¡]/.test(around.replaceAll(NAME, ''))) return null;
  const emoji = around.match(EMOJI) ?? [];
  if (emoji.length > 1) return null;
  // Some programs decompose the accents, which the words have composed.
  const words = composed(around)
    .replaceAll(EMOJI, ' ')
    .replaceAll(/\(-?\p{L}{1,3}\)/gu, '')
    // l'image, n’a
    .replaceAll(/[’‘']/g, ' ')
    .replaceAll(/[^\p{L}\p{M}\p{N}-]+/gu, ' ')
    .trim()
    .toLowerCase();
  if (words === '' && emoji.length === 0) return null;
  for (const vocabulary of VOCABULARIES) {
    const roles = words === '' ? new Set<Role>() : meaningIn(vocabulary, words);
    const meaning = roles && resolve(roles, emoji[0]);
    // "A question about “…”"
    if (
      meaning &&
      !meaning.isFile &&
      !meaning.removed &&
      vocabulary.one?.test(/^[^ ]+/.exec(around)?.[0] ?? '')
    )
      continue;
    if (meaning) return meaning.isFile && vocabulary.one && !roles.has('one') ? null : meaning;
  }
  return null;
}

function resolve(roles: ReadonlySet<Role>, emoji: string | undefined): Meaning | null {
  const named = TAPBACKS.filter((name) => roles.has(name));
  // “Loved a sticker” is about a file; one reacts with a sticker, or removes it.
  const isOfSticker = roles.has('sticker') && named.length > 0 && !roles.has('reacted');
  const about = { removed: roles.has('removed'), isFile: roles.has('file') || isOfSticker };
  if (emoji !== undefined)
    return named.length === 0 && !roles.has('not') ? { reaction: 'emoji', emoji, ...about } : null;
  if (roles.has('sticker') && !isOfSticker) return { reaction: 'sticker', ...about };
  const [only] = named;
  if (only === undefined || named.length > 1) return null;
  if (roles.has('not')) return only === 'like' || only === 'love' ? { reaction: 'dislike', ...about } : null;
  return { reaction: only === 'like' && roles.has('very') ? 'love' : only, ...about };
}

/**
 * Reads a text by which a phone reports a reaction, in the languages of `languages.ts`. Marks surround the name of a reaction as
 * well as the quotation (`Hat „Gefällt mir“ von „Bis morgen“ entfernt`), so that there may be several ways to read it.
 * @returns none if it is another text.
 */
export function textReactions(text: string): TextReaction[] {
  if (text.length > MAX_TEXT) return [];
  const plain = text
    .replaceAll(INVISIBLE_BETWEEN, '')
    .replaceAll(/&(?:quot|#34|#39|apos);/g, '"')
    .trim();
  const openings = openingsOf(plain);
  if (openings.length === 0) {
    const meaning = meaningOf(plain.replaceAll(SPACES, ' '));
    return meaning?.isFile ? [{ ...reactionOf(meaning), about: 'file' }] : unmarked(plain);
  }
  const closings = closingsOf(plain);
  // `Hat ein Bild mit „Gefällt mir“ markiert`
  const marked = meaningOf(plain.replaceAll(MARK, ' ').replaceAll(SPACES, ' '));
  const ofFile: TextReaction[] = marked?.isFile ? [{ ...reactionOf(marked), about: 'file' }] : [];
  const quoting = openings.flatMap((from) => {
    const after = closings.filter((closing) => closing > from);
    return (after.length === 0 ? [plain.length] : after).flatMap((to): TextReaction[] => {
      const meaning = meaningOf(`${plain.slice(0, from)} ${plain.slice(to + 1)}`.replaceAll(SPACES, ' '));
      if (meaning === null) return [];
      const quoted = plain.slice(from + 1, to).trim();
      const isTruncated = to === plain.length || ELLIPSIS.test(quoted);
      return [{ ...reactionOf(meaning), about: { quoted, isTruncated, isMarked: true } }];
    });
  });
  return [...quoting, ...ofFile];
}

/** Words before a quotation whose marks a carrier dropped or replaced. */
const MAX_VERBS = 5;
/** Shorter quotations may be somebody's own words. */
const MIN_UNMARKED = 12;

/** Readings of a text without marks: `Liked ?See you at 8?`. */
function unmarked(text: string): TextReaction[] {
  const spaces = [...text.slice(0, MAX_WORDS).matchAll(/\s+/g)].slice(0, MAX_VERBS);
  return spaces.flatMap(({ index }): TextReaction[] => {
    const meaning = meaningOf(text.slice(0, index).replaceAll(SPACES, ' '));
    const quoted = text.slice(index).trim();
    if (meaning === null || lettersOnly(quoted).length < MIN_UNMARKED) return [];
    return [
      { ...reactionOf(meaning), about: { quoted, isTruncated: ELLIPSIS.test(quoted), isMarked: false } },
    ];
  });
}

const reactionOf = ({ isFile: _isFile, ...reaction }: Meaning) => reaction;

/** The places of the first quotation marks. An apostrophe is one only at the beginning of a word. */
const openingsOf = (text: string): number[] =>
  Array.from(text.slice(0, MAX_WORDS + 1).matchAll(MARK))
    .filter(
      ({ 0: mark, index }) => !APOSTROPHES.includes(mark) || index === 0 || /\s/.test(text[index - 1] ?? ''),
    )
    .slice(0, MAX_MARKS)
    .map(({ index }) => index);

/** The places of the last quotation marks. An apostrophe is one only at the end of a word. */
function closingsOf(text: string): number[] {
  const start = Math.max(0, text.length - MAX_WORDS);
  return Array.from(text.slice(start).matchAll(MARK))
    .map(({ 0: mark, index }) => ({ mark, at: start + index }))
    .filter(({ mark, at }) => !APOSTROPHES.includes(mark) || !/[\p{L}\p{N}]/u.test(text[at + 1] ?? ''))
    .slice(-MAX_MARKS)
    .map(({ at }) => at);
}

/** A truncated quotation is long enough to tell messages apart. */
const MIN_TRUNCATED = 5;
/** One that was cut without an ellipsis. */
const MIN_CUT = 12;

/** @returns whether a reaction quotes a text of ours. Carriers change spaces, quotation marks and other signs on the way. */
export function quotedBy({ about }: TextReaction): (sent: string) => boolean {
  if (about === 'file') return () => false;
  const quoted = about.quoted.replace(ELLIPSIS, '').trim();
  const wanted = lettersOnly(quoted);
  // A text of emoji only.
  if (wanted === '') return (sent) => quoted !== '' && quoted === sent.trim();
  const mayBeLonger =
    (about.isTruncated && wanted.length >= MIN_TRUNCATED) || (about.isMarked && wanted.length >= MIN_CUT);
  return (sent) => hasLetters(sent, wanted, mayBeLonger);
}
