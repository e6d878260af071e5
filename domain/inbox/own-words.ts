import { inAllLanguages, type Language } from '../base/languages.ts';
import { normalize, withoutInvisible } from '../base/text.ts';

/*
 * What did this person write themselves? Mail programs append the message that is answered, and signatures. Everything here
 * takes linear time: lines longer than MAX_LINE are not compared with any pattern.
 */

/** Neither headings nor signatures have longer lines. */
const MAX_LINE = 400;
/** Lines of a header of a quoted message, with recipients and blank lines. */
const MAX_HEADER = 16;
/** An attribution ("On …, Ada wrote:") spans at most this many lines. */
const MAX_FOLDS = 4;

const SPACES = /[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g;

const plainText = (text: string): string => withoutInvisible(text.replaceAll(SPACES, ' ')).trim();

/** A line as it is compared with patterns: if it is too long, only the mark of a quotation remains. */
const plainLine = (line: string): string =>
  line.length > MAX_LINE
    ? plainText(line.slice(0, MAX_MARK)).slice(0, 1).replace(/[^>]/, '')
    : plainText(line);
/** Characters in front of a mark. */
const MAX_MARK = 20;

const linesOf = (text: string): string[] => text.split(/\r\n|[\n\r\u0085\u2028\u2029]/);

/** Not inside a longer word. Scripts without spaces have no such words. */
const word = (source: string): string =>
  String.raw`(?<![\p{Script=Latin}\p{Script=Cyrillic}])${source}(?![\p{Script=Latin}\p{Script=Cyrillic}])`;

type Label = keyof Language['labels'];

/** A line of the header that Outlook writes above a quoted message; also in bold (`*From:*`), and with the value on the next line. */
const labelPattern = (label: Label): RegExp =>
  new RegExp(
    String.raw`^[*_]{0,2}${inAllLanguages(({ labels }) => labels[label])} ?[*_]{0,2} ?[:：][*_]{0,2}(?<value>.*)$`,
    'iu',
  );
const LABELS = (['from', 'sent', 'date', 'to', 'cc', 'subject'] as const).map((label) => ({
  label,
  pattern: labelPattern(label),
}));

/** `A:` is "To" in Spanish and "From" in no language, but `De:` and `Da:` may be several: the first unused one counts. */
function labelOf(line: string, used: ReadonlySet<Label>): { label: Label; value: string } | null {
  if (!/[:：]/.test(line)) return null;
  for (const { label, pattern } of LABELS) {
    const value = used.has(label) ? undefined : pattern.exec(line)?.groups?.['value'];
    if (value !== undefined) return { label, value };
  }
  return null;
}

/** "Reply-To:", "Priority:", "Attachments:", in any language. */
const OTHER_LABEL = /^[*_]{0,2}\p{L}[\p{L}\p{M} -]{1,24} ?[*_]{0,2} ?[:：]/u;

/**
 * The header of a quoted message: at least two different labels in consecutive lines. Somebody may write "From: Berlin" and
 * "To: Munich" themselves, so the header also has an address, a subject, or the label "Sent".
 */
function isHeader(lines: readonly string[], at: number): boolean {
  const found = new Set<Label>();
  let hasAddress = false;
  let isValueBelow = false;
  let blanks = 0;
  for (const line of lines.slice(at, at + MAX_HEADER)) {
    // HTML mails have a paragraph for each line.
    if (line === '' && blanks === 1) break;
    blanks = line === '' ? 1 : 0;
    if (line === '') continue;
    const labeled = labelOf(line, found);
    // Addresses continue on the next lines, and there are further labels between those that are known.
    const belongs = isValueBelow || (found.size > 0 && (line.includes('@') || OTHER_LABEL.test(line)));
    if (labeled === null && !belongs) break;
    hasAddress ||= (labeled?.value ?? line).includes('@');
    isValueBelow = labeled !== null && labeled.value.trim() === '';
    if (labeled) found.add(labeled.label);
  }
  return found.size >= 2 && found.has('from') && (hasAddress || found.has('subject') || found.has('sent'));
}

const DASHES = String.raw`[-–—_=*~]`;
const ORIGINAL = inAllLanguages(({ original }) => original);
/** "-----Original Message-----", "Begin forwarded message:". */
const HEADING = new RegExp(`^(?:${DASHES}{2,} ?${ORIGINAL} ?:?${DASHES}*|${ORIGINAL} ?[:：])$`, 'iu');
/** The same in any other language. A header follows. */
const OTHER_HEADING = /^-{3,} ?\p{L}.{0,80}?-{3,}$/u;
const RULE = /^[-_–—]{10,}$/;

const WROTE = new RegExp(word(inAllLanguages(({ wrote }) => wrote)), 'iu');
const ON = new RegExp(`^${inAllLanguages(({ on }) => on)}(?![\\p{Script=Latin}\\p{Script=Cyrillic}])`, 'iu');
const DATE = /(?:19|20)\d\d|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|[年月]/;
const TIME = /\d{1,2} ?[:.h時点时] ?\d{2}/;
const ADDRESS = /[<([] ?[^\s<>()[\]@]{1,64}@[^\s<>()[\]@]{1,255}[>)\]]/;
/** "3 nov …", "пн, 3 …", "pon., 3 …", "2026年…", "Dana <…> 于…". */
const BEGINS_WITH_DATE = /^(?:\D{0,2}\d|\p{L}{2,12}[.,]{1,2} ?(?:\p{L}+[., ]{1,2})?\d)/u;

/** "Dana <dana@example.com> wrote:", without a date. */
const NAMED = new RegExp(
  `^[^<>]{1,80}<[^\\s<>]+@[^\\s<>]+> ?${inAllLanguages(({ wrote }) => wrote)} ?[:：]$`,
  'iu',
);
const ENDS_WITH_WROTE = new RegExp(`${word(inAllLanguages(({ wrote }) => wrote))}$`, 'iu');

const beginsAttribution = (line: string): boolean => ON.test(line) || BEGINS_WITH_DATE.test(line);

function isAttribution(text: string, isAboveMarks: boolean): boolean {
  if (text.length > MAX_LINE) return false;
  const [hasDate, hasAddress] = [DATE.test(text), ADDRESS.test(text)];
  const wrote = WROTE.test(text);
  const begins = beginsAttribution(text);
  if (!/[:：]$/.test(text))
    return begins && hasDate && hasAddress && (isAboveMarks || ENDS_WITH_WROTE.test(text));
  // "Quoting Dana <dana@example.com>:", in any language.
  if (isAboveMarks && (hasAddress || (wrote && (begins || /\d/.test(text))))) return true;
  if (NAMED.test(text)) return true;
  const hasTime = TIME.test(text);
  if (!hasDate && !(wrote && hasTime)) return false;
  if (hasAddress) return wrote || begins || hasTime;
  return hasTime && (wrote ? begins || isAboveMarks : isAboveMarks);
}

/** How many lines may continue an attribution: `<`, the address, or `>` and the verb may be lines of their own. */
function attributionEnd(lines: readonly string[], at: number, from: number): number {
  const isOpen = lines
    .slice(at, from)
    .join(' ')
    .replaceAll(/<[^<>]*>/g, '')
    .includes('<');
  const line = lines[from];
  if (line === undefined || (line.startsWith('>') && !(isOpen && /^>[^>]{0,30}$/.test(line)))) return -1;
  if (line !== '') return from;
  return lines[from + 1]?.startsWith('<') ? from + 1 : -1;
}

/** @returns the number of lines of the attribution that begins here; 0 if there is none. */
function attributionAt(lines: readonly string[], at: number): number {
  const first = lines[at] ?? '';
  let end = at;
  for (let folds = 0; folds < MAX_FOLDS; folds += 1, end += 1) {
    end = attributionEnd(lines, at, end);
    if (end < 0) return 0;
    const next = lines.slice(end + 1, end + 4).find((line) => line !== '');
    const isAboveMarks = (next?.startsWith('>') ?? false) && attributionEnd(lines, at, end + 1) < 0;
    const isIn = (from: number): boolean => isAttribution(lines.slice(from, end + 1).join(' '), isAboveMarks);
    if (!isIn(at)) {
      if (/[:：]$/.test(lines[end] ?? '')) return 0;
      continue;
    }
    if (folds === 0) return 1;
    // Otherwise the first lines may be the contact's own, above an attribution that is complete without them.
    const rest = lines[at + 1] ?? '';
    const isWhole =
      !/^[<(]/.test(rest) && isIn(at + 1) && (ON.test(rest) || !(DATE.test(first) || ADDRESS.test(first)));
    const begins = beginsAttribution(first) || ADDRESS.test(first) || (DATE.test(first) && TIME.test(first));
    return begins && !isWhole ? end - at + 1 : 0;
  }
  return 0;
}

/** "---- On …, Dana wrote ----". */
const DASHED = new RegExp(`^-{2,} ?.{1,200}?${word(inAllLanguages(({ wrote }) => wrote))} ?-{2,}$`, 'iu');

/** What begins at a line: a quotation that is marked with `>`, one that extends to the end, or neither. */
function quotationAt(
  lines: readonly string[],
  at: number,
): { kind: 'marked' | 'rest'; length: number } | null {
  const line = lines[at] ?? '';
  if (line === '') return null;
  const next = (from: number): string => lines.slice(from, from + 3).find((other) => other !== '') ?? '';
  const attribution = attributionAt(lines, at);
  if (attribution > 0)
    return { kind: next(at + attribution).startsWith('>') ? 'marked' : 'rest', length: attribution };
  if (HEADING.test(line) || DASHED.test(line))
    return { kind: next(at + 1).startsWith('>') ? 'marked' : 'rest', length: 1 };
  if ((OTHER_HEADING.test(line) || RULE.test(line)) && labelOf(next(at + 1), new Set())?.label === 'from')
    return { kind: 'rest', length: 1 };
  return isHeader(lines, at) ? { kind: 'rest', length: 1 } : null;
}

interface Line {
  text: string;
  isOwn: boolean;
  isSignature?: boolean;
}

const SIGNED = /^-----BEGIN PGP SIGNED MESSAGE-----$/;
const SEAL = /^-----BEGIN PGP SIGNATURE-----$/;

/** The text of a message that OpenPGP has signed, without its armor (RFC 9580, section 7). */
function withoutArmor(lines: readonly string[]): readonly string[] {
  const begin = lines.findIndex((line) => SIGNED.test(line));
  if (begin < 0) return lines;
  const first = lines.indexOf('', begin) + 1;
  const end = lines.findIndex((line, at) => at >= first && SEAL.test(line));
  if (first === 0 || end < 0) return lines;
  const signed = lines.slice(first, end).map((line) => line.replace(/^- /, ''));
  return [...lines.slice(0, begin), ...signed];
}

/** Lines that the contact wrote, lines that they quote, and blank ones, which belong to those above. */
function classify(text: string): { lines: Line[]; hasHeading: boolean } {
  const raw = withoutArmor(linesOf(text));
  const plain = raw.map(plainLine);
  const lines: Line[] = [];
  let hasHeading = false;
  for (let at = 0; at < raw.length;) {
    const line = plain[at] ?? '';
    const isMarked = line.startsWith('>');
    // A line of the quotation that a mail program wrapped.
    const isWrapped =
      hasHeading &&
      line !== '' &&
      (plain[at - 1]?.startsWith('>') ?? false) &&
      (plain[at + 1]?.startsWith('>') ?? false);
    const quotation = isMarked ? null : quotationAt(plain, at);
    if (quotation) hasHeading = true;
    if (quotation?.kind === 'rest') break;
    const length = quotation?.length ?? 1;
    for (const one of raw.slice(at, at + length))
      lines.push({ text: one, isOwn: !(isMarked || isWrapped || quotation) });
    at += length;
  }
  return { lines, hasHeading };
}

const joined = (lines: readonly Line[]): string =>
  lines
    .map(({ text }) => text)
    .join('\n')
    .trim();

/** Removes the quoted message from a reply; the whole text if nothing else remains. */
export function unquoted(text: string): string {
  const { lines, hasHeading } = classify(text);
  const last = lines.findLastIndex((line) => line.isOwn && line.text.trim() !== '');
  // Without a heading, quoted lines above and between are context that the contact chose.
  const own = joined(hasHeading ? lines.filter(({ isOwn }) => isOwn) : lines.slice(0, last + 1));
  return last < 0 || own === '' ? linesOf(text).join('\n').trim() : own;
}

/** Begins a signature (RFC 3676, section 4.3). */
const DIVIDER = /^--$/;
/** May also divide what somebody wrote. */
const RULED = new RegExp(`^(?:[–—]|${DASHES}{2,})$`);
const DEVICE =
  '(?:unterwegs|on the (?:go|move|run|road)|iphone|ipad|ipod|apple watch|android|samsung|galaxy|huawei|xiaomi|redmi|pixel|nokia|sony|xperia|motorola|oneplus|oppo|blackberry|windows|outlook|yahoo|gmail|gmx|web\\.de|freenet|t-online|proton|protonmail|tutanota|aqua ?mail|k-9|bluemail|spark|mailbird|thunderbird|mail\\.ru|yandex|orange|free|laposte|libero|virgilio|interia|onet|wp\\.pl|qq|163|(?:mobi|smart|telem)\\p{L}*|handy|phone|telefon\\p{L}*|tel[eé]fono|téléphone|celular|móvil|ノート|スマホ|スマート|携帯|手机|手機|телефон\\p{L}*|мобильн\\p{L}*|почт\\p{L}*|poste|mail|email|e-mail|app)';
const SENT_FROM = new RegExp(`^[-–—*_ ]{0,3}${inAllLanguages(({ sentFrom }) => sentFrom)}`, 'iu');
const SENT_FROM_DEVICE = new RegExp(
  `^(?=.*${DEVICE})[-–—*_ ]{0,3}${inAllLanguages(({ sentFrom }) => sentFrom)}`,
  'iu',
);
/** "Get Outlook for iOS", "Outlook für iOS beziehen", in any language. */
const OUTLOOK =
  /^[^.!?]{0,60}outlook[^.!?]{0,40}(?:<?https:\/\/aka\.ms\/|(?:ios|android|mac|windows).{0,3}(?:downloaden|verzonden|beziehen|herunterladen|を入手(?:する)?)$)/iu;
/** What Yahoo's app writes since 2022, in any language, and what people have their phones write. */
const SLOGAN = /^(?:yahoo|aol) ?mail ?[:：–—-]|^please excuse (?:my|the|any) (?:brevity|typos)/iu;
const MAX_DEVICE_LINE = 160;
const CLOSINGS = inAllLanguages(({ closing }) => closing);
const BEGINS_CLOSING = new RegExp(`^${CLOSINGS}`, 'iu');
const JOINED_CLOSINGS = `${CLOSINGS}(?: ?(?:[&/+|,]|and|und|et|y|e|en|och|og|i|и) ?${CLOSINGS})?`;
const CLOSING = new RegExp(`^${JOINED_CLOSINGS}[ ,.!;、。，！–—-]*$`, 'iu');
const SIGNED_CLOSING = new RegExp(
  `^${CLOSINGS}[,.!;/|、。，！–— -]+(?<name>[\\p{L}\\p{M} ,.'’/|&-]+)$`,
  'iu',
);
const MAX_CLOSING_LINE = 80;

/** "Sent from my iPhone". What follows may be any sentence, like "Please excuse my brevity." */
const isDeviceLine = (line: string): boolean =>
  line.length <= MAX_DEVICE_LINE &&
  (SENT_FROM_DEVICE.test(/^[^.,;?。，]*/.exec(line)?.[0] ?? '') || OUTLOOK.test(line) || SLOGAN.test(line));

/** "Sent from Front": nothing but names follows, which may also be what somebody wrote. */
const isProgramLine = (line: string): boolean =>
  line.length <= MAX_NAME_LINE && SENT_FROM.test(line) && isCapitalized(line.replace(SENT_FROM, '').trim());

/** "Best regards", "Best regards, Ada". */
const isClosing = (line: string): boolean =>
  line.length <= MAX_CLOSING_LINE &&
  BEGINS_CLOSING.test(line) &&
  (CLOSING.test(line) || isCapitalized(SIGNED_CLOSING.exec(line)?.groups?.['name'] ?? ''));

/** Words that all may be of a name. */
function isCapitalized(words: string): boolean {
  const all = words.split(/[ ,/|&]+/).filter(Boolean);
  return all.length > 0 && all.length <= MAX_NAME_WORDS && all.every((one) => NAME_WORD.test(one));
}

/** What may precede what somebody wrote: "Dear Ms Lovelace,". */
const GREETING = new RegExp(
  `^${inAllLanguages(({ greeting }) => greeting)}(?<name>(?![\\p{Script=Latin}\\p{Script=Cyrillic}]).*)$`,
  'iu',
);
const MAX_GREETING_LINE = 60;

/** What companies and virus scanners append: "This email is confidential". */
const NOTICE = new RegExp(`^[^\\p{L}]{0,8}${inAllLanguages(({ notice }) => notice)}`, 'iu');
const MIN_APPENDED = 8;
/** It is told by its beginning. */
const NOTICE_BEGINNING = 200;

const MAX_NAME_LINE = 60;
const MAX_NAME_WORDS = 6;
const PARTICLES =
  'aus|from|of|the|and|for|at|von|vom|und|zu|zur|van|der|den|de|del|della|dos|das|da|do|di|du|des|et|y|e|i|la|le|los|las|en|och|og|av|af|w|z|a|all|team';
/** A word of a name, a position or a company. Scripts without case have no others. */
const NAME_WORD = new RegExp(`^(?:[^\\p{L}]*(?:\\p{Lu}|\\p{Lt}|\\p{Lo})|\\P{L}+$|(?:${PARTICLES})$)`, 'u');

/** Whether a line may be the name of somebody: no sentence. */
export function isName(line: string): boolean {
  if (line.length > MAX_NAME_LINE || /[?!？！。]/.test(line)) return false;
  const words = line.split(' ').filter(Boolean);
  return (
    words.length <= MAX_NAME_WORDS && (words.length === 1 || words.every((word) => NAME_WORD.test(word)))
  );
}

/** A line without the greeting at its beginning: "Hello Dana, STOP". */
export function withoutGreeting(line: string): string {
  const end = line.slice(0, MAX_GREETING_LINE).search(/[,!،，、:;–—\n]|\. /u);
  return end > 0 && isGreeting(line.slice(0, end).trim()) ? line.slice(end + 1) : line;
}

function isGreeting(line: string): boolean {
  const name = line.length > MAX_GREETING_LINE ? undefined : GREETING.exec(line)?.groups?.['name'];
  return name !== undefined && isName(name.replace(/[!！]+$/, '').trim());
}

/**
 * The lines without signatures. One follows what somebody wrote, and extends to the next quotation: it begins with a divider, a line
 * about the device, or a closing that a name or nothing follows.
 * @param below whether a closing with nothing below it is one.
 */
function withoutSignatures(lines: readonly Line[], { bareClosing }: { bareClosing: boolean }): Line[] {
  let hasLines = false;
  let hasText = false;
  let isSignature = false;
  return lines.map((line, at) => {
    const plain = plainLine(line.text);
    if (!line.isOwn) isSignature = false;
    const signed = { text: line.text, isOwn: false, isSignature: true };
    if (!line.isOwn || line.text.trim() === '') return isSignature ? signed : line;
    const isCertain =
      DIVIDER.test(plain) || isDeviceLine(plain) || (RULED.test(plain) && isAboveName(lines, at));
    const isApart = hasText && plain.length >= MIN_APPENDED && (lines[at - 1]?.text.trim() ?? '') === '';
    if (!isSignature)
      isSignature = isCertain
        ? hasLines
        : (isApart &&
            (isProgramLine(plain) || NOTICE.test(plainText(line.text.slice(0, NOTICE_BEGINNING))))) ||
          (hasText && isClosing(plain) && isSigned(lines, at, bareClosing));
    hasLines ||= !isCertain;
    hasText ||= !isCertain && !isClosing(plain) && !isGreeting(plain);
    return isSignature || isCertain ? signed : line;
  });
}

/** Lines between a closing and the name. */
const MAX_BLANKS = 6;

/** Whether a name follows a closing, and no sentence. */
function isSigned(lines: readonly Line[], at: number, bareClosing: boolean): boolean {
  const next = lines
    .slice(at + 1, at + 1 + MAX_BLANKS)
    .find(({ text, isOwn }) => !isOwn || text.trim() !== '');
  if (!next?.isOwn) return bareClosing;
  const plain = plainLine(next.text);
  return DIVIDER.test(plain) || isDeviceLine(plain) || isClosing(plain) || isName(plain);
}

/** Lines below a rule in which a signature shows. */
const SIGNATURE_LINES = 4;
const CONTACT = /@|https?:|www\.|\+?\d[\d ()/.-]{6,}\d/i;

/** Whether the lines below a rule are a name, addresses or numbers, as in a signature. */
function isAboveName(lines: readonly Line[], at: number): boolean {
  const below = lines
    .slice(at + 1, at + 1 + SIGNATURE_LINES)
    .map(({ text }) => plainLine(text))
    .filter(Boolean);
  return (
    below.length === 0 ||
    isName(below[0] ?? '') ||
    below.some((line) => CONTACT.test(line) || isDeviceLine(line))
  );
}

/** The part of an email to show: without the quoted message and a signature. Null if nothing else remains. */
export function writtenPart(text: string): string | null {
  const { lines, hasHeading } = classify(text);
  const marked = withoutSignatures(lines, { bareClosing: false });
  const last = marked.findLastIndex((line) => line.isOwn && line.text.trim() !== '');
  if (last < 0) return null;
  // As in `unquoted`.
  return joined(
    hasHeading
      ? marked.filter(({ isOwn }) => isOwn)
      : marked.slice(0, last + 1).filter(({ isSignature }) => isSignature !== true),
  );
}

/**
 * The lines of a reply that its sender wrote: without quotations, signatures, greetings, closings and blank lines. Empty if there
 * are none.
 */
export function ownLines(text: string): string[] {
  const own: string[] = [];
  const skipped: string[] = [];
  for (const { text: raw, isOwn } of withoutSignatures(classify(text).lines, { bareClosing: true })) {
    const line = raw.replaceAll(SPACES, ' ').trim();
    if (!isOwn || line === '') continue;
    const plain = plainLine(line);
    if (own.length === 0 && (isClosing(plain) || isGreeting(plain))) skipped.push(line);
    else own.push(line);
  }
  // Who writes nothing but "Thanks!" means it.
  return own.length > 0 ? own : skipped;
}

/** The last line below a signature, after a blank one: it may be the sender's own. Empty if there is none. */
export function belowSignature(text: string): string {
  const lines = withoutSignatures(classify(text).lines, { bareClosing: true });
  const last = lines.findLastIndex((line) => line.isSignature === true && line.text.trim() !== '');
  const isApart = lines[last - 1]?.isSignature === true && lines[last - 1]?.text.trim() === '';
  return isApart ? (lines[last]?.text.trim() ?? '') : '';
}

/** A reply without quoted text and what mail clients add; null if that is longer than `maxLength`. */
export function ownText(text: string, maxLength: number): string | null {
  const own = ownLines(text).join('\n');
  return own.length > maxLength ? null : own;
}

/** Shorter texts of ours may also be the contact's own words. */
const MIN_LETTERS = 15;

/** More than any character has. */
const MAX_DECOMPOSED = 40;
/** Composed or decomposed, with or without accents, which carriers replace. */
const plainLetter = (letter: string): string =>
  (letter < '\u0080'
    ? letter
    : normalize(letter, 'NFKD', MAX_DECOMPOSED).replaceAll(/\p{M}/gu, '')
  ).toLowerCase();

/**
 * Letters and digits in lower case, one by one, and where each is in the text: carriers and mail programs change everything else.
 * A letter may be several.
 */
function* lettersIn(text: string): Generator<{ letter: string; index: number }> {
  for (const { 0: letter, index } of text.matchAll(/[\p{L}\p{N}]/gu))
    yield { letter: plainLetter(letter), index };
}

/** Letters behind are not compared with our texts. */
const MAX_COMPARED = 20_000;

function lettersOf(text: string): { letters: string; places: number[] } {
  const places: number[] = [];
  const letters: string[] = [];
  for (const { letter, index } of lettersIn(text)) {
    letters.push(letter);
    for (let unit = 0; unit < letter.length; unit += 1) places.push(index);
    if (places.length >= MAX_COMPARED) break;
  }
  return { letters: letters.join(''), places };
}

/** Only letters and digits, in lower case: two forms of one text are equal. The first of a long text. */
export const lettersOnly = (text: string): string => lettersOf(text).letters;

/** How many letters from its beginning a text has in common with others from a place on. Reads no more of it. */
function lettersInCommon(text: string, others: string, from = 0): { length: number; isWhole: boolean } {
  let length = 0;
  for (const { letter } of lettersIn(text)) {
    if (!others.startsWith(letter, from + length)) return { length, isWhole: false };
    length += letter.length;
  }
  return { length, isWhole: true };
}

/** Whether a text has these letters and no others, or, if it may be longer, begins with them. */
export function hasLetters(text: string, letters: string, mayBeLonger: boolean): boolean {
  const { length, isWhole } = lettersInCommon(text, letters);
  return length === letters.length && (isWhole || mayBeLonger);
}

/** Removes the texts that we sent from what a contact wrote, however they quote them, also if only the beginning is quoted. */
export function withoutOurTexts(text: string, ours: readonly string[]): string {
  let { letters, places } = lettersOf(text);
  const quoted: { from: number; to: number }[] = [];
  for (const sent of new Set(ours)) {
    const found = longestQuotation(letters, sent);
    if (!found) continue;
    let { at, end } = found;
    const [from = 0, last = 0] = [places[at], places[end - 1]];
    // A letter that is several is removed as a whole.
    while (places[at - 1] === from) at -= 1;
    while (places[end] === last) end += 1;
    letters = letters.slice(0, at) + letters.slice(end);
    places.splice(at, end - at);
    quoted.push({ from, to: last + String.fromCodePoint(text.codePointAt(last) ?? 0).length });
  }
  return without(text, quoted);
}

/** More places where a text of ours may be quoted are not looked at. */
const MAX_PLACES = 10;

/** Where a text, or its beginning, is quoted, from one letter up to another; null: nowhere. */
function longestQuotation(letters: string, sent: string): { at: number; end: number } | null {
  let beginning = '';
  for (const { letter } of lettersIn(sent)) {
    beginning += letter;
    if (beginning.length >= MIN_LETTERS) break;
  }
  if (beginning.length < MIN_LETTERS) return null;
  beginning = beginning.slice(0, MIN_LETTERS);
  let longest: { at: number; end: number } | null = null;
  let at = letters.indexOf(beginning);
  for (let place = 0; at >= 0 && place < MAX_PLACES; place += 1) {
    const { length } = lettersInCommon(sent, letters, at);
    const end = at + Math.max(MIN_LETTERS, length);
    if (!longest || end - at > longest.end - longest.at) longest = { at, end };
    at = letters.indexOf(beginning, at + 1);
  }
  return longest;
}

/** A text without some of its parts, which may overlap. */
function without(text: string, parts: readonly { from: number; to: number }[]): string {
  let rest = '';
  let done = 0;
  for (const { from, to } of parts.toSorted((a, b) => a.from - b.from)) {
    rest += text.slice(done, Math.max(done, from));
    done = Math.max(done, to);
  }
  return rest + text.slice(done);
}
