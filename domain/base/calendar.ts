import { Temporal as Time } from 'temporal-polyfill';

/** A half-open interval: `start` is inclusive, `end` exclusive. */
export interface Bounds {
  start: Date;
  end: Date;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Caches the last result for each zone: planning asks for the same day and hour many times. */
function cacheLast(boundsOf: (zone: string, now: Date) => Bounds): (zone: string, now: Date) => Bounds {
  const last = new Map<string, Bounds>();
  return (zone, now) => {
    const cached = last.get(zone);
    if (cached && cached.start <= now && now < cached.end) return cached;
    const bounds = boundsOf(zone, now);
    last.set(zone, bounds);
    return bounds;
  };
}

export const toZoned = (zone: string, at: Date): Time.ZonedDateTime =>
  Time.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(zone);

export const toDate = (time: Time.ZonedDateTime): Date => new Date(time.epochMilliseconds);

/** The time between two changes of the clocks, with the offset from UTC in milliseconds. */
interface OffsetPeriod extends Bounds {
  offset: number;
}

const FOREVER = 8.64e15;
const PERIODS_REMEMBERED = 8;
const periods = new Map<string, OffsetPeriod[]>();

/** Caches the last periods of each zone, because two lookups of changes are slow. */
function periodAt(zone: string, at: Date): OffsetPeriod {
  const known = periods.get(zone) ?? [];
  const cached = known.find(({ start, end }) => start <= at && at < end);
  if (cached) return cached;
  const local = toZoned(zone, at);
  const period = {
    start: new Date(lastChange(local, -FOREVER)),
    end: new Date(nextChange(local, FOREVER)),
    offset: local.offsetNanoseconds / 1e6,
  };
  periods.set(zone, [period, ...known].slice(0, PERIODS_REMEMBERED));
  return period;
}

/** The offsets of a zone from UTC: `seconds[i]` from `since[i]` on. */
export interface Offsets {
  since: readonly Date[];
  seconds: readonly number[];
}

/** No counted data is older. */
const [FIRST_YEAR, LAST_YEAR] = [2000, 2100];
const offsets = new Map<string, Offsets>();

/**
 * From 2000 to 2100, for conversions in SQL: other programs know other zones, and treat `CET` as an offset that is the same
 * all year.
 */
export function offsetsOf(zone: string): Offsets {
  const known = offsets.get(zone);
  if (known) return known;
  const changes: Time.ZonedDateTime[] = [];
  for (
    let local: Time.ZonedDateTime | null = toZoned(zone, new Date(Date.UTC(FIRST_YEAR)));
    local !== null && local.year <= LAST_YEAR;
    local = local.getTimeZoneTransition('next')
  )
    changes.push(local);
  const found = {
    since: changes.map(toDate),
    seconds: changes.map(({ offsetNanoseconds }) => offsetNanoseconds / 1e9),
  };
  offsets.set(zone, found);
  return found;
}

/** A date whose UTC fields are the local date and time. Much cheaper than `toZoned`. */
export const wallClock = (zone: string, at: Date): Date => new Date(at.getTime() + periodAt(zone, at).offset);

const wallMidnight = (wall: Date): Date => new Date(Math.floor(wall.getTime() / DAY_MS) * DAY_MS);

/** `time` (HH:mm) on the `days`-th day after that of a wall clock, in the same form. */
export function wallTime(wall: Date, days: number, time: string): Date {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return new Date(wallMidnight(wall).getTime() + days * DAY_MS + hours * HOUR_MS + minutes * 60_000);
}

/**
 * The instant at which the clocks show `wall`, a date as `wallClock` returns it; null within a day of a change of the
 * clocks, where that time may be skipped or repeated.
 */
export function fromWallClock(zone: string, wall: Date): Date | null {
  const guess = new Date(wall.getTime() - periodAt(zone, wall).offset);
  const { start, end, offset } = periodAt(zone, guess);
  const at = wall.getTime() - offset;
  return start.getTime() + DAY_MS <= at && at < end.getTime() - DAY_MS ? new Date(at) : null;
}

/** Temporal also accepts offsets, and times with a zone, such as `2026-01-01T00:00Z`. */
const ZONE_NAME = /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/;
/** The longest name has 32 characters. */
const MAX_ZONE_NAME = 64;

/** Whether `value` is an IANA time zone. An offset such as `+02:00` is not one; nor is `PST`, which only `Intl` accepts. */
export function isTimeZone(value: string): boolean {
  if (value.length > MAX_ZONE_NAME || !ZONE_NAME.test(value)) return false;
  try {
    toZoned(value, new Date(0));
    return true;
  } catch {
    return false;
  }
}

/**
 * The local calendar day that contains `now`. It has 23 or 25 hours when the clocks change, and does not start at
 * 00:00 in zones that change at midnight.
 * @throws RangeError for an unknown zone, like all functions here.
 */
export const dayBounds = cacheLast((zone, now) => {
  const wall = wallClock(zone, now);
  const start = fromWallClock(zone, wallTime(wall, 0, '00:00'));
  const end = fromWallClock(zone, wallTime(wall, 1, '00:00'));
  if (start && end) return { start, end };
  const local = toZoned(zone, now);
  return { start: toDate(local.startOfDay()), end: startOf(local.toPlainDate().add({ days: 1 }), zone) };
});

/**
 * The local clock hour that contains `now`. An hour that is repeated when the clocks go back counts as two. If the
 * clocks change in mid-hour (Lord Howe Island changes by 30 minutes), the hour ends or starts at the change.
 */
export const hourBounds = cacheLast((zone, now) => {
  const { offset, ...period } = periodAt(zone, now);
  const whole = now.getTime() - ((((now.getTime() + offset) % HOUR_MS) + HOUR_MS) % HOUR_MS);
  // In nearly all hours the clocks do not change.
  if (period.start.getTime() <= whole && whole + HOUR_MS <= period.end.getTime())
    return { start: new Date(whole), end: new Date(whole + HOUR_MS) };
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

// `previous` excludes a transition at the instant itself, hence `add`.
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

/** The number of local midnights between two instants; negative if `to` comes first. */
export function daysBetween(zone: string, from: Date, to: Date): number {
  const midnight = (at: Date): number => wallMidnight(wallClock(zone, at)).getTime();
  return (midnight(to) - midnight(from)) / DAY_MS;
}

/**
 * `time` (HH:mm) on the local day after the one that contains `now`, never before that day starts. A time that is
 * skipped when the clocks go forward moves later by the length of the gap.
 */
export function nextMorning(zone: string, now: Date, time = '09:00'): Date {
  const morning = fromWallClock(zone, wallTime(wallClock(zone, dayBounds(zone, now).end), 0, time));
  if (morning) return morning;
  const tomorrow = toZoned(zone, dayBounds(zone, now).end).toPlainDate();
  return toDate(tomorrow.toZonedDateTime({ timeZone: zone, plainTime: Time.PlainTime.from(time) }));
}

function startOf(date: Time.PlainDate, zone: string): Date {
  return toDate(date.toZonedDateTime(zone));
}
