import { isSameSubject, replySubject, subjectOf } from './email-subject.ts';

/** The emails that an email answers or continues. */
export interface EmailThread {
  /** Their Message-IDs, oldest first; those that are known. */
  ids: readonly string[];
  subject: string;
}

/**
 * The subject of an email: its own, otherwise that of the thread that it continues, otherwise the first line of its text. One that is its
 * thread's gets the prefix of a reply.
 * @param own '' or blank: none.
 */
export function emailSubject(
  own: string,
  { thread, text, sender }: { thread: EmailThread | null; text: string; sender: string },
): string {
  const given = own.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  if (thread === null) return given || subjectOf(text, sender);
  return given === '' || isSameSubject(given, thread.subject) ? replySubject(thread.subject) : given;
}
