import { baseSubject, isReplySubject, isSameSubject } from '../messages/email-subject.ts';
import { type Keyword, optOutKeyword } from '../contacts/opt-out.ts';
import { ownText } from './own-words.ts';

interface Written {
  subject?: string | undefined;
  text: string;
}

/**
 * The subject that the contact wrote, without prefixes; '' if it is the one of the message that they answer.
 * @param ours the subject of that message; null if it is not known.
 */
export function ownSubject(subject: string | undefined, ours: string | null): string {
  if (subject === undefined) return '';
  return ours !== null && isSameSubject(subject, ours) ? '' : baseSubject(subject);
}

/** The text of an inbound message: the subject if there is nothing else of the contact's own. */
export function writtenText({ subject, text }: Written, ours: string | null): string {
  if (ownText(text, Number.POSITIVE_INFINITY) !== '') return text;
  // The subject of a message that we do not know.
  if (ours === null && subject !== undefined && isReplySubject(subject)) return text;
  return ownSubject(subject, ours) || text;
}

/** The keyword of an inbound message. An opt-out in its subject or its text counts; an opt-in only if nothing else is said. */
export function writtenKeyword({ subject, text }: Written, ours: string | null): Keyword | null {
  const inSubject = optOutKeyword(ownSubject(subject, ours));
  const inText = optOutKeyword(text);
  if (inSubject === 'stop' || inText === 'stop') return 'stop';
  return inText ?? (ownText(text, Number.POSITIVE_INFINITY) === '' ? inSubject : null);
}
