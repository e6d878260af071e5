import type { Channel } from '../base/channel.ts';
import { type DaySignals, daysBefore, type SignalCounts, sumSignals } from './line-signals.ts';

/** The terms of a line's reputation. Each subtracts a number of points. `docs/reputation.md` lists the sources. */
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
  /** The maximum number of points that it can subtract. */
  weight: number;
  /** The points that it subtracts: 0 to -weight. */
  points: number;
  /** For customers, with the numbers. */
  text: string;
  evidence: { count: number; of: number; days: number };
}

/**
 * @property fine the value at which the term subtracts nothing.
 * @property bad the value at which it subtracts its whole weight; less than `fine` if more is better.
 * @property prior the number of imaginary cases with the value `fine` that are added, so that a few cases decide little.
 * @property days the days that count, ending with today.
 */
interface Scale {
  weight: number;
  fine: number;
  bad: number;
  prior: number;
  days: number;
}

const SCALES: Record<TermName, Scale> = {
  reply_rate: { weight: 45, fine: 0.1, bad: 0.01, prior: 10, days: 7 },
  balance: { weight: 10, fine: 0.1, bad: 0.01, prior: 20, days: 28 },
  unanswered: { weight: 30, fine: 0.6, bad: 0.8, prior: 20, days: 14 },
  undelivered: { weight: 20, fine: 0.04, bad: 0.15, prior: 30, days: 7 },
  failed: { weight: 30, fine: 0.06, bad: 0.2, prior: 30, days: 7 },
  opt_outs: { weight: 80, fine: 0.01, bad: 0.03, prior: 80, days: 7 },
  complaints: { weight: 60, fine: 0.001, bad: 0.03, prior: 60, days: 10 },
  bounces: { weight: 60, fine: 0.02, bad: 0.1, prior: 30, days: 14 },
  first_touch: { weight: 10, fine: 0.2, bad: 1, prior: 10, days: 28 },
  burst: { weight: 60, fine: 1.5, bad: 3, prior: 0, days: 2 },
};

/** Days before those of `burst`, whose average is the line's usual day. */
const USUAL_DAYS = 21;
/** The minimum number of conversations assumed for a line's usual day. */
const LEAST_USUAL = 12;
/** With fewer days before, there is no usual day. */
const LEAST_KNOWN_DAYS = 7;
const DAY_MS = 86_400_000;

/** All terms of a line at `now`; `bounces` of email lines only. */
export function termsOf(channel: Channel, days: readonly DaySignals[], now: Date): Term[] {
  const sums = new Map<number, SignalCounts>();
  /** The sum over the days of a term. */
  const over = (name: TermName): SignalCounts => {
    const length = SCALES[name].days;
    const sum = sums.get(length) ?? sumSignals(days, daysBefore(now, length - 1), daysBefore(now, 0));
    sums.set(length, sum);
    return sum;
  };
  const term = (name: TermName, count: number, of: number, text: (share: string) => string): Term => {
    const { weight, days: length } = SCALES[name];
    const value = of > 0 ? count / of : null;
    return {
      name,
      value,
      weight,
      points: points(name, count, of),
      text: value === null ? NOTHING[name] : `${text(percent(value))} (${length} days).`,
      evidence: { count, of, days: length },
    };
  };
  // A conversation of the day before yesterday or earlier is certain to be older than 24 hours.
  const older = sumSignals(days, daysBefore(now, SCALES.reply_rate.days - 1), daysBefore(now, 2));
  const answered = Math.min(older.answered, older.opened);
  const { received, sent } = over('balance');
  const runs = over('unanswered');
  const silent = Math.max(0, runs.silent - runs.revived);
  const carried = over('undelivered');
  const tried = over('failed');
  const leavers = over('opt_outs');
  const angry = over('complaints');
  const mailed = over('bounces');
  const first = over('first_touch');
  return [
    term(
      'reply_rate',
      answered,
      older.opened,
      (share) =>
        `${answered} of the ${people(older.opened)} whom the line wrote to for the first time more than a day ago answered: ${share}`,
    ),
    term(
      'balance',
      received,
      sent,
      () => `The line sent ${messages(sent)} and received ${messages(received)}`,
    ),
    term(
      'unanswered',
      silent,
      runs.approached,
      (share) =>
        `${silent} of the ${people(runs.approached)} whom the line approached got three or more messages in a row without answering: ${share}`,
    ),
    term(
      'undelivered',
      carried.undelivered,
      carried.sent,
      (share) => `${carried.undelivered} of ${messages(carried.sent)} were not delivered: ${share}`,
    ),
    term(
      'failed',
      tried.failed,
      tried.sent + tried.failed,
      (share) => `The carrier refused ${tried.failed} of ${messages(tried.sent + tried.failed)}: ${share}`,
    ),
    term(
      'opt_outs',
      leavers.optouts,
      leavers.sent,
      (share) =>
        `The line sent ${messages(leavers.sent)}, and ${people(leavers.optouts)} opted out: ${share}`,
    ),
    term(
      'complaints',
      angry.complained,
      angry.sent,
      (share) =>
        `The line sent ${messages(angry.sent)}, and ${people(angry.complained)} complained, or their carriers did: ${share}`,
    ),
    ...(channel === 'email'
      ? [
          term(
            'bounces',
            mailed.bounced,
            mailed.sent + mailed.bounced,
            (share) => `${mailed.bounced} of ${mailed.sent + mailed.bounced} emails bounced: ${share}`,
          ),
        ]
      : []),
    term(
      'first_touch',
      first.linked,
      first.opened,
      (share) => `${first.linked} of ${first.opened} first messages contained a link or a file: ${share}`,
    ),
    burst(days, now),
  ];
}

/** The busiest of the last days against the usual one before: the average, idle days included. */
function burst(days: readonly DaySignals[], now: Date): Term {
  const { weight, days: length } = SCALES.burst;
  const recent = daysBefore(now, length - 1);
  const busiest = days.reduce<DaySignals | null>(
    (most, day) =>
      day.day >= recent && day.day <= daysBefore(now, 0) && day.opened > (most?.opened ?? 0) ? day : most,
    null,
  );
  const before = days.filter(({ day }) => day < recent && day >= daysBefore(now, length - 1 + USUAL_DAYS));
  const first = before.reduce((least, { day }) => (day < least ? day : least), recent);
  const known = Math.round((Date.parse(recent) - Date.parse(first)) / DAY_MS);
  const average = before.reduce((sum, { opened }) => sum + opened, 0) / Math.max(1, known);
  const of = Math.max(LEAST_USUAL, Math.round(average));
  const count = busiest?.opened ?? 0;
  return {
    name: 'burst',
    value: count / of,
    weight,
    // A line without a usual day warms up by its caps.
    points: known < LEAST_KNOWN_DAYS ? 0 : points('burst', count, of),
    text: busiest
      ? `On ${busiest.day} the line opened ${count} new conversations; its usual day has ${of}.`
      : NOTHING.burst,
    evidence: { count, of, days: length },
  };
}

/** The points that a term subtracts: linear between `fine` and `bad`. */
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
  balance: 'The line sends nothing at present.',
  unanswered: 'The line writes to nobody at present.',
  undelivered: 'The line sends nothing at present.',
  failed: 'The line sends nothing at present.',
  opt_outs: 'The line sends nothing at present.',
  complaints: 'The line sends nothing at present.',
  bounces: 'The line sends no email at present.',
  first_touch: 'The line opens no new conversations at present.',
  burst: 'The line opens no new conversations at present.',
};
