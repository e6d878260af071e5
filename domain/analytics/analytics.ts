import { z } from 'zod';
import type { Temporal as Time } from 'temporal-polyfill';
import { type Bounds, dayBounds, hourBounds, toDate, toZoned } from '../base/calendar.ts';
import { Id, OwnUserId } from '../base/ids.ts';
import { endOf, Moment, startOf } from '../base/moment.ts';

/** The filters of every analytics endpoint, combined with AND. */
export const AnalyticsQuery = z.object({
  campaignId: Id.optional(),
  lineId: Id.optional(),
  userId: OwnUserId.optional(),
  dateFrom: Moment.optional().meta({ description: 'Inclusive; a date means the start of that day.' }),
  dateTo: Moment.optional().meta({ description: 'Inclusive; a date means the end of that day.' }),
});
export type AnalyticsQuery = z.output<typeof AnalyticsQuery>;

/** The resolved filters; both bounds are inclusive. */
export interface AnalyticsFilter {
  campaignId?: string | undefined;
  lineId?: string | undefined;
  userId?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

export function analyticsFilter(
  { dateFrom, dateTo, ...rest }: AnalyticsQuery,
  timezone: string,
): AnalyticsFilter {
  return {
    ...rest,
    ...(dateFrom !== undefined && { from: startOf(dateFrom, timezone) }),
    ...(dateTo !== undefined && { to: endOf(dateTo, timezone) }),
  };
}

/** Both bounds are inclusive. */
export type Span = Pick<AnalyticsFilter, 'from' | 'to'>;

/** Contiguous spans of whole calendar days, as `YYYY-MM-DD`, the first day of each. */
export interface Days {
  starts: readonly string[];
  /** The day after the last one, or `infinity`. */
  end: string;
}

/** Bounds before and after every message. */
const [FIRST_DAY, LAST_DAY] = ['0001-01-01', 'infinity'];

/**
 * The days of spans that cover whole calendar days and touch each other.
 * @param spans without a `from`, the first one covers all earlier days; without a `to`, the last one all later days.
 * @returns null if a span begins or ends in the middle of a day.
 */
export function wholeDays(spans: readonly Span[], timezone: string): Days | null {
  const starts: string[] = [];
  for (const { from } of spans) {
    const start = from === undefined ? FIRST_DAY : dayThatStarts(from, timezone);
    // Most of the hours of a long series start in the middle of a day.
    if (start === null) return null;
    starts.push(start);
  }
  const to = spans.at(-1)?.to;
  const end = to === undefined ? LAST_DAY : dayThatStarts(new Date(to.getTime() + 1), timezone);
  return end === null ? null : { starts, end };
}

/**
 * The start times of spans that are each one clock hour.
 * @returns null if one is not.
 */
export function wholeHours(spans: readonly Span[], timezone: string): readonly Date[] | null {
  const starts = spans.map(({ from, to }) => {
    if (from === undefined || to === undefined) return null;
    const { start, end } = hourBounds(timezone, from);
    return start.getTime() === from.getTime() && end.getTime() === to.getTime() + 1 ? start : null;
  });
  return starts.every((start) => start !== null) ? starts : null;
}

/** A span that begins or ends within a day, as whole days and the parts by which it differs from them. */
export interface CutSpan {
  days: Span;
  /** Parts of the span that are not in the days. */
  added: readonly Span[];
  /** Parts of the days that are not in the span. */
  removed: readonly Span[];
}

/**
 * The calendar days that come closest to a span.
 * @returns null if there are none.
 */
export function closestDays({ from, to }: Span, timezone: string): CutSpan | null {
  const [begin, end] = [from && closestMidnight(from, timezone), to && closestMidnight(next(to), timezone)];
  if (begin && end && begin >= end) return null;
  const parts = (first: Date | undefined, last: Date | undefined): Span[] =>
    first && last && first < last ? [{ from: first, to: previous(last) }] : [];
  return {
    days: { ...(begin && { from: begin }), ...(end && { to: previous(end) }) },
    added: [...parts(from, begin), ...parts(end, to && next(to))],
    removed: [...parts(begin, from), ...parts(to && next(to), end)],
  };
}

function closestMidnight(at: Date, timezone: string): Date {
  const { start, end } = dayBounds(timezone, at);
  return at.getTime() - start.getTime() <= end.getTime() - at.getTime() ? start : end;
}

/** A span includes its last millisecond. */
const next = (at: Date): Date => new Date(at.getTime() + 1);
const previous = (at: Date): Date => new Date(at.getTime() - 1);

function dayThatStarts(at: Date, timezone: string): string | null {
  const { start } = dayBounds(timezone, at);
  if (start.getTime() !== at.getTime()) return null;
  const day = toZoned(timezone, at).toPlainDate();
  if (day.year < 1) return FIRST_DAY;
  return day.year > 9999 ? LAST_DAY : day.toString();
}

export const Interval = z.enum(['hour', 'day', 'week']);
export type Interval = z.infer<typeof Interval>;

/** The years (UTC) that a series may cover: a bucket's end must still have a four-digit year. */
export const SERIES_YEARS = { first: 1970, last: 9998 } as const;

/** Larger series are refused; the caller should choose a coarser interval. */
export const MAX_BUCKETS = 1000;

/**
 * The calendar hours, days or weeks (starting on Monday) that overlap a period, contiguous across clock changes.
 * Returns at most `MAX_BUCKETS + 1`, so that callers can detect a series that is too long.
 */
export function buckets(
  interval: Interval,
  timezone: string,
  { from, to }: { from: Date; to: Date },
): Bounds[] {
  const found: Bounds[] = [];
  for (let at = from; at <= to && found.length <= MAX_BUCKETS;) {
    const bucket = bucketOf(interval, timezone, at);
    found.push(bucket);
    at = bucket.end;
  }
  return found;
}

function bucketOf(interval: Interval, timezone: string, at: Date): Bounds {
  if (interval === 'hour') return hourBounds(timezone, at);
  if (interval === 'day') return dayBounds(timezone, at);
  const local = toZoned(timezone, at).toPlainDate();
  const monday = local.subtract({ days: local.dayOfWeek - 1 });
  const start = (date: Time.PlainDate): Date => toDate(date.toZonedDateTime(timezone));
  return { start: start(monday), end: start(monday.add({ days: 7 })) };
}
