/**
 * The counts from which a line's reputation is computed, per line and UTC day, written in the transactions in which things
 * happen. UTC days, because a change of the workspace's zone must not move what was counted.
 */
export const LINE_SIGNALS = [
  /** Messages handed to the carrier, without fallback SMS. */
  'sent',
  /** New conversations: first messages to addresses with which the line had exchanged none. */
  'opened',
  /** The part of these with a link or a file. */
  'linked',
  /** Times a contact was written to after having answered, or for the first time. */
  'approached',
  /** Times a contact got the third message in a row without an answer. */
  'silent',
  /** Answers of such contacts. */
  'revived',
  /** Conversations started on that day that were answered, on any day. */
  'answered',
  /** Messages of contacts, without automatic ones. */
  'received',
  /** Messages that the carrier took and later reported as failed. */
  'undelivered',
  /** Messages that the carrier refused. */
  'failed',
  /** Contacts who opted out by a keyword, or according to the carrier. */
  'optouts',
  /** Complaints: what contacts wrote or carriers reported about spam. */
  'complained',
  /** Emails that were refused or came back. */
  'bounced',
] as const;
export type LineSignal = (typeof LINE_SIGNALS)[number];
export type SignalCounts = Record<LineSignal, number>;

/** @property day a UTC date, `2026-03-02`. */
export type DaySignals = SignalCounts & { day: string };

export const NO_SIGNALS: Readonly<SignalCounts> = Object.fromEntries(
  LINE_SIGNALS.map((name) => [name, 0]),
) as SignalCounts;

/** From this many consecutive unanswered messages on, a contact counts as silent. */
export const SILENT_FROM = 3;

const DAY_MS = 86_400_000;

/** The UTC day of a time. */
export const signalDay = (at: Date): string => at.toISOString().slice(0, 10);

/** The UTC day a number of days before that of `now`. */
export const daysBefore = (now: Date, days: number): string =>
  signalDay(new Date(now.getTime() - days * DAY_MS));

/** The start of the UTC day a number of days after that of `now`. */
export const startOfDayAfter = (now: Date, days: number): Date =>
  new Date(Date.parse(signalDay(now)) + days * DAY_MS);

/** The sums over the days of `from` to `to`, both included. */
export function sumSignals(days: readonly DaySignals[], from: string, to: string): SignalCounts {
  const sum: SignalCounts = { ...NO_SIGNALS };
  for (const counts of days) {
    if (counts.day < from || counts.day > to) continue;
    for (const name of LINE_SIGNALS) sum[name] += counts[name];
  }
  return sum;
}
