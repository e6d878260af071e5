import { z } from 'zod';
import { Temporal as Time } from 'temporal-polyfill';
import { type Bounds, dayBounds, hourBounds, toDate, toZoned } from './calendar.ts';
import { Id, UserId } from './ids.ts';

/** ISO 8601: an instant, or, in the time zone of the question, a local time, or a date for its whole day. */
const Moment = z.union(
  [
    z.iso.datetime({ offset: true, local: true }),
    z.iso.datetime({ offset: true, local: true, precision: -1 }),
    z.iso.date(),
  ],
  'must be an ISO 8601 date or date-time',
);

/** What every analytics question can be narrowed down to; all given are intersected. */
export const AnalyticsQuery = z.object({
  campaignId: Id.optional(),
  lineId: Id.optional(),
  userId: UserId.optional(),
  dateFrom: Moment.optional().meta({ description: 'Inclusive; a date stands for its beginning.' }),
  dateTo: Moment.optional().meta({ description: 'Inclusive; a date stands for its end.' }),
});
export type AnalyticsQuery = z.output<typeof AnalyticsQuery>;

/** The same, ready to compare with: both bounds inclusive. */
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
    ...(dateFrom !== undefined && {
      from: isDate(dateFrom) ? dayOf(dateFrom, timezone).start : instant(dateFrom, timezone),
    }),
    ...(dateTo !== undefined && {
      to: isDate(dateTo) ? new Date(dayOf(dateTo, timezone).end.getTime() - 1) : instant(dateTo, timezone),
    }),
  };
}

const isDate = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text);

function instant(text: string, timezone: string): Date {
  if (/(Z|[+-]\d{2}:\d{2})$/.test(text)) return new Date(text);
  return toDate(Time.PlainDateTime.from(text).toZonedDateTime(timezone));
}

/** A calendar day as an interval of time. @param date `YYYY-MM-DD`. */
export function dayOf(date: string, timezone: string): Bounds {
  const start = Time.PlainDate.from(date).toZonedDateTime(timezone);
  return dayBounds(timezone, toDate(start));
}

export const Interval = z.enum(['hour', 'day', 'week']);
export type Interval = z.infer<typeof Interval>;

/** Of a series, in UTC: what is beyond cannot be written down with four digits. */
export const SERIES_YEARS = { first: 1970, last: 9998 } as const;

/** More buckets than this are refused: the question is for a coarser interval. */
export const MAX_BUCKETS = 1000;

/**
 * The calendar hours, days or weeks (from Monday) that a stretch of time touches, one after the other without gaps,
 * whatever the clocks do in between. Stops after `MAX_BUCKETS` and one more.
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
