import { LANGUAGE_CODES, LANGUAGES } from '../base/languages.ts';
import { normalize } from '../base/text.ts';
import { CALENDAR_NAMES } from '../campaigns/out-of-office.ts';

/*
 * Is it automatic? Phones answer texts for somebody who drives, receives no notifications, or is away until a day.
 */

/** Phones send two or three sentences. */
const MAX_TEXT = 400;
const MAX_SENTENCES = 4;

const whole = (source: string): RegExp => new RegExp(`^(?:${source})$`, 'iu');
const BEGINNING = String.raw`^[^\p{L}\p{N}]{0,4}`;
const NO_LETTER_BEFORE = String.raw`(?<![\p{Script=Latin}\p{Script=Cyrillic}])`;
const NO_LETTER = String.raw`(?![\p{Script=Latin}\p{Script=Cyrillic}])`;

/** As polite programs begin. */
const SORRY =
  'sorry|entschuldigung|désolée?|lo siento|perdón|desculpe|desculpa|scusa|scusi|mi dispiace|beklager|undskyld|förlåt|przepraszam|すみません|申し訳ありません|抱歉|不好意思|извините|простите';

/** Between an absence and its last day, or before the day of a return. */
const UNTIL =
  'until|till|to|thru|through|bis|jusqu|jusque|hasta|até|fino|tot|t m|t o m|til|do|до|по|from|vom|ab|du|desde|del|dal|van|vanaf|från|fra|od|с';
const BACK =
  '(?:\\S+ ){0,3}(?:back|returning|return|zurück|wieder da|wieder erreichbar|de retour|de vuelta|de volta|di ritorno|terug|tilbage|tilbake|tillbaka)';
/** What a day is named with: “Monday, 14 December”, “le 14 décembre”, “the end of next week”. */
const DAY = `(?: (?:\\d{1,4}(?:st|nd|rd|th|er|e)?|${CALENDAR_NAMES}|on|the|of|end|and|und|et|y|e|en|including|next|week|tomorrow|am|den|der|dem|zum|nächste[nr]?|woche|morgen|le|la|les|au|à|demain|prochaine?|semaine|el|los|al|de|próxim[ao]|semana|mañana|o|a|ao|em|dia|amanhã|il|lo|domani|prossim[ao]|settimana|op|het|met|volgende)){1,8}`;

const KINDS = ['silenced', 'driving', 'unable', 'later', 'unattended'] as const;
type Kind =
  | (typeof KINDS)[number]
  | 'label'
  | 'now'
  | 'opening'
  | 'acknowledgement'
  | 'absent'
  | 'away'
  | 'back';
const SUFFICIENT: readonly Kind[] = ['silenced', 'label', 'unattended', 'away'];
const BESIDE_DRIVING: readonly Kind[] = ['later', 'unable', 'now'];

/** What iPhones append to the text that their owner chose. */
const APPENDED =
  /\(i.m not receiving notifications\. if this is urgent, reply .urgent. to send a notification through with your original message\.\)$/iu;

const DOT_OF_DATE = new RegExp(String.raw`(?<=\d)\.(?=\s?(?:\d|${CALENDAR_NAMES}))`, 'giu');

/** Who speaks of themselves or of another may type it. */
const PERSON =
  /^(?:i|we|my|our|your|the|his|her|their|ich|bin|wir|mein\p{L}*|je|j|nous|estoy|yo|mi|estou|eu|sono|io|ik|jeg|jag|jestem|я) /iu;
// Patterns with a day take 40 ms to compile, so a word that they require is looked for before.
const RETURNING = new RegExp(BACK, 'iu');
const RETURN = whole(`${BACK}${DAY}`);

const SENTENCES = LANGUAGE_CODES.map((code) => {
  const { automatic, isSpaceless, greeting, acknowledgement } = LANGUAGES[code];
  const { and, now, label, away } = automatic;
  return {
    kinds: KINDS.map((kind) => ({ kind, pattern: whole(automatic[kind]) })),
    now: new RegExp(`${NO_LETTER_BEFORE}(?:${now})${NO_LETTER}`, 'giu'),
    space: isSpaceless ? '' : ' ',
    away: new RegExp(away, 'iu'),
    absent: whole(
      `(?:i will be |i ll be )?(?:${away})(?: (?:${UNTIL})${DAY})+|(?:ich bin )?(?:${UNTIL})${DAY} (?:${away})`,
    ),
    acknowledgement: acknowledgement === undefined ? null : whole(acknowledgement),
    opening: whole([greeting, SORRY, acknowledgement].filter(Boolean).join('|')),
    label: whole(label),
    // A sentence is whole, or consists of clauses.
    separators: [new RegExp(` (?:${and}) `, 'u'), /[,;()[\]،、，]/u],
    // "Auto-reply: …", "[Auto-reply] …". A question asks whether it is one.
    heading: new RegExp(
      String.raw`${BEGINNING}(?:${label}\s*(?:(?:from|by|von|de|da|van)\s[^.:：]{1,30})?[:：\])】–—*-]|${label}${NO_LETTER}[^.!?。？]{0,40}[.!。]|(?:${away})\s*[:：])(?![^.!\n。]*[?？])`,
      'iu',
    ),
  };
});
type Sentences = (typeof SENTENCES)[number];

/** Everything but letters and digits is a space; ideographic sentences have few spaces. */
const plain = (sentence: string): string =>
  sentence
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase();

/** What a sentence, or each of its clauses, says; none if a part of it is of no kind. */
function kindsOf(language: Sentences, sentence: string, depth = 0): Kind[] {
  const said = plain(sentence);
  const timeless = plain(said.replaceAll(language.now, language.space));
  const found: Kind[] = language.kinds
    .filter(({ pattern }) => pattern.test(said) || pattern.test(timeless))
    .map(({ kind }) => kind);
  if (found.length > 0 && timeless !== said) found.push('now');
  if (language.label.test(sentence.trim())) found.push('label');
  if (language.opening.test(said)) found.push('opening');
  if (language.acknowledgement?.test(said)) found.push('acknowledgement');
  if (language.away.test(said) && language.absent.test(said))
    found.push(PERSON.test(said) ? 'absent' : 'away');
  if (RETURNING.test(said) && RETURN.test(said)) found.push('back');
  const separator = language.separators[depth];
  if (separator === undefined) return found;
  const clauses = sentence.split(separator).filter((clause) => plain(clause) !== '');
  const inClauses = clauses.map((clause) => kindsOf(language, clause, depth + 1));
  return inClauses.some((kinds) => kinds.length === 0) ? found : [...found, ...inClauses.flat()];
}

/**
 * Whether a text consists of the sentences that phones send by themselves, or begins with "Auto-reply:", in the languages of
 * `languages.ts`. Somebody who adds a sentence of their own wrote it.
 */
export function isAutomaticText(text: string): boolean {
  const end = text.slice(-MAX_TEXT).trimEnd();
  if (APPENDED.test(end)) return true;
  if (text.length > MAX_TEXT) return false;
  const readable = normalize(text, 'NFKC', MAX_TEXT);
  // The dot of “14. Dezember” ends no sentence.
  const sentences = readable
    .replaceAll(DOT_OF_DATE, ' ')
    .split(/[.!?。！？\n]+| [-–—] /)
    .filter((sentence) => plain(sentence) !== '');
  if (sentences.length === 0 || sentences.length > MAX_SENTENCES) return false;
  const ending =
    /^(?:[\s\S]*(?:[.!。！\n([]|\s[-–—]))?\s*([^.!。！\n()[\]]+)[\])]?[.!。]?\s*$/u
      .exec(readable)?.[1]
      ?.replace(/^[^\p{L}\p{N}]+/u, '')
      .trim() ?? '';
  return SENTENCES.some((language) => {
    if (language.heading.test(readable)) return true;
    // "… (Auto-reply)", whatever it says. A question asks whether it is one.
    if (/[?？]/.test(readable)) return false;
    if (language.label.test(ending)) return true;
    const each = sentences.map((sentence) => kindsOf(language, sentence));
    if (each.some((kinds) => kinds.length === 0)) return false;
    const said = new Set(each.flat());
    // "I'm driving", "I'll read it later", or "I'm away until Monday", may be typed; nobody types "I'm driving right now" and nothing else.
    return (
      SUFFICIENT.some((kind) => said.has(kind)) ||
      (said.has('absent') && said.has('acknowledgement')) ||
      (said.has('driving') && BESIDE_DRIVING.some((kind) => said.has(kind)))
    );
  });
}
