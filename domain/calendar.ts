import { Temporal as Time } from 'temporal-polyfill';

/** A stretch of time, `start` included and `end` excluded. */
export interface Bounds {
  start: Date;
  end: Date;
}

const HOUR_MS = 3_600_000;

/** Keeps the last bounds of each zone: a plan asks for those of one day and one hour again and again. */
function remembered(boundsOf: (zone: string, now: Date) => Bounds): (zone: string, now: Date) => Bounds {
  const last = new Map<string, Bounds>();
  return (zone, now) => {
    const known = last.get(zone);
    if (known && known.start <= now && now < known.end) return known;
    const bounds = boundsOf(zone, now);
    last.set(zone, bounds);
    return bounds;
  };
}

export const toZoned = (zone: string, at: Date): Time.ZonedDateTime =>
  Time.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(zone);

export const toDate = (time: Time.ZonedDateTime): Date => new Date(time.epochMilliseconds);

/** Whether `value` names a zone of the IANA database; an offset such as `+02:00` does not. */
export function isTimeZone(value: string): boolean {
  if (/^[+-]/.test(value)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

/**
 * The local calendar day that `now` is in: 23 or 25 hours where the clocks change, and not always from 00:00,
 * since some zones change at midnight.
 * @throws RangeError for an unknown zone, as do all functions here.
 */
export const dayBounds = remembered((zone, now) => {
  const local = toZoned(zone, now);
  return { start: toDate(local.startOfDay()), end: startOf(local.toPlainDate().add({ days: 1 }), zone) };
});

/**
 * The local clock hour that `now` is in. An hour that the clocks repeat counts as two; one that they cut in the
 * middle (Lord Howe Island changes by 30 minutes) ends, or begins, at the cut.
 */
export const hourBounds = remembered((zone, now) => {
  const local = toZoned(zone, now);
  const sinceHour = local.minute * 60_000 + local.second * 1000 + local.millisecond;
  const start = now.getTime() - sinceHour;
  const end = start + HOUR_MS;
  return {
    start: new Date(sameOffset(start) ? start : lastChange(local, start)),
    end: new Date(sameOffset(end - 1) ? end : nextChange(local, end)),
  };

  function sameOffset(at: number): boolean {
    return toZoned(zone, new Date(at)).offsetNanoseconds === local.offsetNanoseconds;
  }
});

// A change of the clocks counts for an instant from that instant on, hence `add` before looking back.
function lastChange(local: Time.ZonedDateTime, start: number): number {
  const change = local.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
  return Math.max(start, change?.epochMilliseconds ?? start);
}

function nextChange(local: Time.ZonedDateTime, end: number): number {
  return Math.min(end, local.getTimeZoneTransition('next')?.epochMilliseconds ?? end);
}

/** The local calendar date as `YYYY-MM-DD`. */
export function localDate(zone: string, now: Date): string {
  return toZoned(zone, now).toPlainDate().toString();
}

/** Local midnights between two instants; negative when `to` comes first. */
export function daysBetween(zone: string, from: Date, to: Date): number {
  return toZoned(zone, from).toPlainDate().until(toZoned(zone, to).toPlainDate()).days;
}

/**
 * `time` (HH:mm) on the local day after the one `now` is in, never before that day begins. A time that the
 * clocks skip is as much later as they skip.
 */
export function nextMorning(zone: string, now: Date, time = '09:00'): Date {
  const tomorrow = toZoned(zone, dayBounds(zone, now).end).toPlainDate();
  return toDate(tomorrow.toZonedDateTime({ timeZone: zone, plainTime: Time.PlainTime.from(time) }));
}

function startOf(date: Time.PlainDate, zone: string): Date {
  return toDate(date.toZonedDateTime(zone));
}
