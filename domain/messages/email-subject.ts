/**
 * What mail programs put before the subject of a reply: `Re:`, also numbered (`Re[2]:`), and its translations: German, Dutch,
 * Scandinavian, Finnish, Portuguese, Spanish, Italian, French, Polish, Turkish, Hungarian, Russian, Greek, Hebrew, Chinese, Japanese.
 */
const REPLY_PREFIX =
  /^\s*(?:re|aw|antw(?:ort)?|sv|vs|svar|res|resp|rif|r|réf?|réponse|odp|ynt|yan|vá|vál|atb|отв|ha|απ|σχετ|תגובה|השב|回复|回覆|答复|返信)(?:\s*[[(]\d+[\])]|\s*\^\d+)?\s*[:：]\s*/iu;

/** A subject without the prefixes of replies. */
export function baseSubject(subject: string): string {
  let base = subject.replaceAll(/\s+/g, ' ').trim();
  for (;;) {
    const shorter = base.replace(REPLY_PREFIX, '');
    if (shorter === base) return base;
    base = shorter;
  }
}

export const isReplySubject = (subject: string): boolean => REPLY_PREFIX.test(subject);

/** The subject of a reply: the prefix once, whatever the language of those before it. */
export const replySubject = (subject: string): string => `Re: ${baseSubject(subject)}`.trim();

/** Whether both name the same thread. */
export const isSameSubject = (one: string, other: string): boolean =>
  baseSubject(one).toLowerCase() === baseSubject(other).toLowerCase();

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
