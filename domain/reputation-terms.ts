import type { Channel } from './channel.ts';
import { type DaySignals, daysBefore, type SignalCounts, sumSignals } from './line-signals.ts';

/** The terms of a line's reputation, each a number of points that it takes away. `docs/reputation.md` has the sources. */
export const TERM_NAMES = [
  'reply_rate',
  'balance',
  'unanswered',
  'undelivered',
  'failed',
  'opt_outs',
  'complaints',
  'bounces',
  'first_touch',
  'burst',
] as const;
export type TermName = (typeof TERM_NAMES)[number];

export interface Term {
  name: TermName;
  /** `count / of`; null: nothing to divide by. For `burst`, how many usual days the busiest day was. */
  value: number | null;
  /** The most points it can take. */
  weight: number;
  /** What it takes of 100: 0 to -weight. */
  points: number;
  /** For customers, with the numbers. */
  text: string;
  evidence: { count: number; of: number; days: number };
}

/**
 * @property fine with this value the term takes nothing.
 * @property bad with this value it takes all of its weight. Less than `fine` where more is better.
 * @property prior so many imagined cases with the value `fine` are added, so that a few cases decide nothing.
 * @property days the days that count, ending with today.
 */
interface Scale {
  weight: number;
  fine: number;
  bad: number;
  prior: number;
  days: number;
}

export const SCALES: Record<TermName, Scale> = {
  reply_rate: { weight: 35, fine: 0.1, bad: 0.01, prior: 20, days: 28 },
  balance: { weight: 10, fine: 0.1, bad: 0.01, prior: 20, days: 28 },
  unanswered: { weight: 15, fine: 0.4, bad: 0.9, prior: 20, days: 28 },
  undelivered: { weight: 30, fine: 0.06, bad: 0.2, prior: 30, days: 14 },
  failed: { weight: 30, fine: 0.06, bad: 0.2, prior: 30, days: 14 },
  opt_outs: { weight: 50, fine: 0.02, bad: 0.1, prior: 30, days: 14 },
  complaints: { weight: 60, fine: 0.001, bad: 0.03, prior: 50, days: 14 },
  bounces: { weight: 60, fine: 0.02, bad: 0.1, prior: 30, days: 14 },
  first_touch: { weight: 10, fine: 0.2, bad: 1, prior: 10, days: 28 },
  burst: { weight: 15, fine: 2, bad: 5, prior: 0, days: 7 },
};

/** Days before those of `burst`, whose average is the line's usual day. */
const USUAL_DAYS = 21;
/** A line that opens fewer conversations on a usual day is taken to open so many. */
const LEAST_USUAL = 10;

/** All terms of a line at `now`; `bounces` of email lines only. */
export function termsOf(channel: Channel, days: readonly DaySignals[], now: Date): Term[] {
  const over = (length: number): SignalCounts =>
    sumSignals(days, daysBefore(now, length - 1), daysBefore(now, 0));
  const month = over(28);
  const fortnight = over(14);
  // A conversation of the day before yesterday or earlier is older than 24 hours for certain.
  const older = sumSignals(days, daysBefore(now, 27), daysBefore(now, 2));
  const ratio = (name: TermName, count: number, of: number, text: (share: string) => string): Term => {
    const { weight, days: length } = SCALES[name];
    const value = of > 0 ? count / of : null;
    return {
      name,
      value,
      weight,
      points: points(name, count, of),
      text: value === null ? NOTHING[name] : text(percent(value)),
      evidence: { count, of, days: length },
    };
  };
  const silent = Math.max(0, month.silent - month.revived);
  return [
    ratio(
      'reply_rate',
      Math.min(older.answered, older.opened),
      older.opened,
      (share) =>
        `${share} of the ${people(older.opened)} whom the line wrote to for the first time more than a day ago answered (${older.answered}, in 28 days).`,
    ),
    ratio(
      'balance',
      month.received,
      month.sent,
      () => `The line sent ${messages(month.sent)} and received ${messages(month.received)} in 28 days.`,
    ),
    ratio(
      'unanswered',
      silent,
      month.approached,
      (share) =>
        `${people(silent)} of ${month.approached} (${share}) got three or more messages in a row without answering, in 28 days.`,
    ),
    ratio(
      'undelivered',
      fortnight.undelivered,
      fortnight.sent,
      (share) =>
        `${share} of ${messages(fortnight.sent)} were not delivered (${fortnight.undelivered}, in 14 days).`,
    ),
    ratio(
      'failed',
      fortnight.failed,
      fortnight.sent + fortnight.failed,
      (share) =>
        `The carrier refused ${fortnight.failed} of ${messages(fortnight.sent + fortnight.failed)} (${share}, in 14 days).`,
    ),
    ratio(
      'opt_outs',
      fortnight.optouts,
      fortnight.approached,
      (share) =>
        `${fortnight.optouts} of the ${people(fortnight.approached)} whom the line approached opted out (${share}, in 14 days).`,
    ),
    ratio(
      'complaints',
      fortnight.complained,
      fortnight.approached,
      (share) =>
        `${fortnight.complained} of the ${people(fortnight.approached)} whom the line approached complained, or their carriers did (${share}, in 14 days).`,
    ),
    ...(channel === 'email'
      ? [
          ratio(
            'bounces',
            fortnight.bounced,
            fortnight.sent + fortnight.bounced,
            (share) =>
              `${fortnight.bounced} of ${fortnight.sent + fortnight.bounced} emails bounced (${share}, in 14 days).`,
          ),
        ]
      : []),
    ratio(
      'first_touch',
      month.linked,
      month.opened,
      (share) =>
        `${share} of ${month.opened} first messages contained a link or a file (${month.linked}, in 28 days).`,
    ),
    burst(days, now),
  ];
}

/** The busiest of the last days against the usual one before. */
function burst(days: readonly DaySignals[], now: Date): Term {
  const { weight, days: length } = SCALES.burst;
  const recent = daysBefore(now, length - 1);
  const busiest = days.reduce<DaySignals | null>(
    (most, day) =>
      day.day >= recent && day.day <= daysBefore(now, 0) && day.opened > (most?.opened ?? 0) ? day : most,
    null,
  );
  const before = days.filter(
    ({ day, opened }) => day < recent && day >= daysBefore(now, length - 1 + USUAL_DAYS) && opened > 0,
  );
  const average = before.reduce((sum, { opened }) => sum + opened, 0) / Math.max(1, before.length);
  const of = Math.max(LEAST_USUAL, Math.round(average));
  const count = busiest?.opened ?? 0;
  return {
    name: 'burst',
    value: count / of,
    weight,
    // Without earlier days there is no usual one: a new line warms up by its caps.
    points: before.length === 0 ? 0 : points('burst', count, of),
    text: busiest
      ? `On ${busiest.day} the line opened ${count} new conversations; its usual day has ${of}.`
      : 'The line opened no new conversations in 7 days.',
    evidence: { count, of, days: length },
  };
}

/** What a term takes: linear between `fine` and `bad`. */
function points(name: TermName, count: number, of: number): number {
  const { weight, fine, bad, prior } = SCALES[name];
  const cases = of + prior;
  if (cases === 0) return 0;
  const value = (count + fine * prior) / cases;
  const share = Math.min(1, Math.max(0, (value - fine) / (bad - fine)));
  const taken = Math.round(weight * share * 10) / 10;
  return taken === 0 ? 0 : -taken;
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`;
const people = (n: number): string => (n === 1 ? '1 person' : `${n} people`);
const messages = (n: number): string => (n === 1 ? '1 message' : `${n} messages`);

/** While there is nothing to count. */
const NOTHING: Record<TermName, string> = {
  reply_rate: 'No new conversation is older than a day yet.',
  balance: 'The line sent nothing in 28 days.',
  unanswered: 'The line wrote to nobody in 28 days.',
  undelivered: 'The line sent nothing in 14 days.',
  failed: 'The line sent nothing in 14 days.',
  opt_outs: 'The line wrote to nobody in 14 days.',
  complaints: 'The line wrote to nobody in 14 days.',
  bounces: 'The line sent no email in 14 days.',
  first_touch: 'The line opened no new conversation in 28 days.',
  burst: 'The line opened no new conversations in 7 days.',
};
