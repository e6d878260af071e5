import { z } from 'zod';
import { Temporal as Time } from 'temporal-polyfill';
import { type Bounds, dayBounds, toDate } from './calendar.ts';

/**
 * The form of RFC 3339 of what other programs write: `2026-12-24 10:00:00+00` of databases, `+0000`, `t` and `z` in lower case, a comma
 * before the fraction, spaces around it. A query that was not encoded has a space for the plus of its offset. Each pattern begins at the
 * start, because a text that has many places to begin at would take a time quadratic in its length.
 */
const canonical = (text: string): string =>
  text
    .trim()
    .replace(/^(\d{4}-\d{2}-\d{2})(?:t| (?=\d))/, '$1T')
    .replace(/^(\S{19}),(\d)/, '$1.$2')
    .replace(/^(\S{10}T\d{2}:\S+) ?(?:z|utc)$/i, '$1Z')
    .replace(/^(\S{10}T\d{2}:\S+) (\d{2}:?\d{2})$/, '$1+$2')
    .replace(
      /^(\S{10}T\d{2}:\S*?) ?([+\u2212-])(\d{2}):?(\d{2})?$/u,
      (_, time, sign, hours, minutes = '00') => `${time}${sign === '+' ? '+' : '-'}${hours}:${minutes}`,
    );

/** What the schema tells of the forms that are read. */
const written = (pattern: string) => z.string().overwrite(canonical).meta({ pattern });
const DAY = String.raw`^\s*\d{4}-\d{2}-\d{2}`;

/** ISO 8601: an instant. */
export const Instant = written(String.raw`${DAY}[Tt ]\d{2}:\d{2}`).pipe(
  z.iso.datetime({
    offset: true,
    error: 'must be an ISO 8601 date and time with an offset, such as 2026-12-24T10:00:00Z',
  }),
);

/** ISO 8601: an instant, or a local time or a whole day in a time zone that the request names or implies. */
export const Moment = written(DAY).pipe(
  z.union(
    [
      z.iso.datetime({ offset: true, local: true }),
      z.iso.datetime({ offset: true, local: true, precision: -1 }),
      z.iso.date(),
    ],
    'must be an ISO 8601 date or date-time',
  ),
);

/** Whether a moment is a whole day. */
const isDate = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text);

/** The instant of a moment; for a whole day, its start. @param timezone the zone of a text without an offset. */
export function startOf(text: string, timezone: string): Date {
  if (isDate(text)) return dayOf(text, timezone).start;
  if (/(Z|[+-]\d{2}:\d{2})$/.test(text)) return new Date(text);
  return toDate(Time.PlainDateTime.from(text).toZonedDateTime(timezone));
}

/** The instant of a moment; for a whole day, its last. */
export const endOf = (text: string, timezone: string): Date =>
  isDate(text) ? new Date(dayOf(text, timezone).end.getTime() - 1) : startOf(text, timezone);

/** The start and end of a calendar day. @param date `YYYY-MM-DD`. */
export function dayOf(date: string, timezone: string): Bounds {
  const start = Time.PlainDate.from(date).toZonedDateTime(timezone);
  return dayBounds(timezone, toDate(start));
}
