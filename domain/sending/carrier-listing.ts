import { isBlank, normalize } from '../base/text.ts';
import { mapInTurns } from '../base/turns.ts';

/** A message that a carrier lists as sent to a recipient. */
export interface ListedMessage {
  id: string;
  /** Null: it has none, or none that is comparable with ours. */
  text: string | null;
}

/** What a carrier lists of an account to the recipient of an attempt, since before the attempt started. */
export interface CarrierListing<Message extends ListedMessage> {
  /** From the newest to the oldest. Messages that certainly come from no attempt are left out. */
  messages: readonly Message[];
  /** Whether these are all: every page was read. */
  isComplete: boolean;
}

export interface SearchedAttempt {
  /** The text that was sent; null if it is no longer known. */
  text: string | null;
  /** The carrier's ids of other attempts to the recipient. */
  takenIds: readonly string[];
  /** Whether it may have been sent at all: its record is lost, as may be those of other messages to the recipient. */
  isRecordLost: boolean;
  /** Whether so much time has passed that a message which was sent is listed. */
  isSettled: boolean;
}

export type SearchResult<Message> =
  | { kind: 'found'; message: Message }
  | { kind: 'not_sent' }
  /** It may still be on its way. */
  | { kind: 'unreachable'; reason: string }
  | { kind: 'unknown' };

/**
 * Searches a message in the list of a carrier that stores no reference of ours.
 *
 * Carriers change texts, so another text does not prove that a message is another one. The message counts as not sent only if
 * the list is complete and every message in it belongs to another attempt. If records are lost, a message with other words may
 * be one of those whose record is lost, so it proves nothing.
 *
 * Comparing takes turns with other work: a carrier's server can list as much as it likes.
 */
export async function searchListing<Message extends ListedMessage>(
  { messages, isComplete }: CarrierListing<Message>,
  { text, takenIds, isRecordLost, isSettled }: SearchedAttempt,
): Promise<SearchResult<Message>> {
  const taken = new Set(takenIds);
  const unowned = messages.filter(({ id }) => !taken.has(id));
  if (text !== null && !isBlank(text)) {
    const isSame = sameAs(text);
    const same = await mapInTurns(unowned, ({ text: listed }) => listed !== null && isSame(listed));
    const matching = unowned.filter((_, index) => same[index]);
    const found = matching.findLast((message) => message.text === text) ?? matching.at(-1);
    if (found) return { kind: 'found', message: found };
  }
  if (!isSettled) return { kind: 'unreachable', reason: 'it may still be on its way' };
  const isUnclear = ({ text: listed }: Message): boolean =>
    !isRecordLost || listed === null || isBlank(listed) || text === null || isBlank(text);
  return isComplete && !unowned.some(isUnclear) ? { kind: 'not_sent' } : { kind: 'unknown' };
}

/** More than a message, each of whose characters may be decomposed. */
const MAX_COMPARED = 100_000;
/** A text that a carrier has changed is no longer than this, in UTF-16 code units. */
const maxChanged = (text: string): number => 4 * text.length + 1000;

/**
 * Whether a text that a carrier lists has the same letters and digits in the same order as one that was sent, or, without any, the same
 * other characters.
 */
export function sameAs(sent: string): (listed: string) => boolean {
  const words = wordsOf(sent);
  const signs = words === '' ? signsOf(sent) : '';
  return (listed) =>
    listed.length <= maxChanged(sent) &&
    words === wordsOf(listed) &&
    (words !== '' || signs === signsOf(listed));
}

/** Carriers replace punctuation, spaces, line ends and accents, and compose or decompose characters. */
const wordsOf = (text: string): string =>
  lettersOf(lettersOf(text).toLowerCase()).replaceAll(/[ßæœøłđþð]/g, (letter) => IN_ASCII[letter] ?? '');

/** Letters that have no decomposition, as carriers write them in ASCII. */
const IN_ASCII: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  þ: 'th',
  ð: 'd',
};

const lettersOf = (text: string): string =>
  normalize(text, 'NFKD', MAX_COMPARED).replaceAll(/[^\p{L}\p{N}]/gu, '');

const signsOf = (text: string): string =>
  normalize(text, 'NFKC', MAX_COMPARED).replaceAll(/[\p{White_Space}\p{Cc}\p{Cf}\p{DI}]/gu, '');
