import { INVISIBLE } from '../base/text.ts';

/**
 * What mail programs put before the subject of a reply: `Re:`, also numbered (`Re[2]:`), and its translations: German, Dutch,
 * Scandinavian, Finnish, Portuguese, Spanish, Italian, French, Polish, Turkish, Hungarian, Russian, Greek, Hebrew, Chinese, Japanese.
 */
const REPLY =
  '(?:re|aw|antw(?:ort|oord)?|sv|vs|svar|res|resp|respuesta|resposta|rif|risposta|r|réf?|rép|réponse|odp|ynt|yan|vá|vál|atb|отв|ответ|на|bls|ha|απ|αποτ|σχετ|תגובה|השב|رد|回复|回覆|答复|返信)(?:\\s*[[(]\\d+[\\])]|\\s*\\^\\d+|-?\\d{1,2})?\\s*[:：]';
const REPLY_PREFIX = new RegExp(`^\\s*${REPLY}\\s*`, 'iu');

/** What mail programs put before a subject that is forwarded. */
const FORWARD_PREFIX = /^\s*(?:fwd?|wg|tr|rv|enc|doorst|转发|轉寄|転送)\s*[:：]\s*/iu;

/** What mail servers put before the subject of an email from elsewhere: `[EXTERNAL]`, `***SPAM***`. */
const SERVER_MARK =
  /^\s*(?:\[[^[\]]{0,20}\b(?:ext|external|externe?|spam)\b[^[\]]{0,20}\]|\*+ ?spam ?\*+|\{spam\??\}|external:)\s*/iu;

/** What mailing lists put before the prefix of a reply: `[sales] Re: …`. */
const LIST_MARK = new RegExp(`^\\s*\\[[^[\\]]{1,60}\\]\\s*(?=${REPLY})`, 'iu');

const BLANKS = new RegExp(`^(?:\\s|${INVISIBLE.source})+`, 'u');

function without(prefixes: readonly RegExp[], subject: string): string {
  let base = subject.replace(BLANKS, '').replaceAll(/\s+/g, ' ').trim();
  for (;;) {
    const shorter = prefixes.reduce((text, prefix) => text.replace(prefix, ''), base);
    if (shorter === base) return base;
    base = shorter;
  }
}

/** A subject without the prefixes of replies and the marks of servers. */
export const baseSubject = (subject: string): string =>
  without([REPLY_PREFIX, SERVER_MARK, LIST_MARK], subject);

export const isReplySubject = (subject: string): boolean =>
  REPLY_PREFIX.test(without([SERVER_MARK, LIST_MARK], subject));

/** The subject of a reply: the prefix once, whatever the language of those before it. */
export const replySubject = (subject: string): string => `Re: ${baseSubject(subject)}`.trim();

/** Whether both name the same thread, forwarded or not. */
export const isSameSubject = (one: string, other: string): boolean => threadOf(one) === threadOf(other);

const threadOf = (subject: string): string =>
  without([REPLY_PREFIX, FORWARD_PREFIX, SERVER_MARK, LIST_MARK], subject).toLowerCase();

/** The recommended maximum line length (RFC 5322, section 2.1.1). */
const SUBJECT_LENGTH = 78;

/** The subject of an email without one: the first non-empty line of its text, truncated between words. */
export function subjectOf(text: string, sender: string): string {
  const line = text
    .split('\n')
    .find((candidate) => candidate.trim() !== '')
    ?.trim();
  if (line === undefined) return `Message from ${sender}`;
  if (line.length <= SUBJECT_LENGTH) return line;
  const room = line.slice(0, SUBJECT_LENGTH - 1);
  const lastSpace = room.lastIndexOf(' ');
  return `${lastSpace > 0 ? room.slice(0, lastSpace) : room}…`;
}
