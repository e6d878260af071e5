import { Temporal as Time } from 'temporal-polyfill';
import { z } from 'zod';
import { fromWallClock, toDate, wallClock, wallTime } from '../base/calendar.ts';
import { TimeZone } from '../base/time-zone.ts';

const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day as HH:mm');

/**
 * When a message may be sent, by the wall clock of `timezone`: from `start` (default 00:00) up to but not including
 * `end` (default 24:00). An `end` at or before `start` is on the following day, so equal times mean the whole day.
 * `days` (0 is Sunday) are the days on which the window starts: Friday's 22:00 to 02:00 extends into Saturday.
 */
export const SendWindow = z.object({
  timezone: TimeZone,
  start: TimeOfDay.optional(),
  end: TimeOfDay.optional(),
  days: z.array(z.int().min(0).max(6)).min(1).optional(),
});
export type SendWindow = z.infer<typeof SendWindow>;

// A weekly window opens within 7 days, or within 14 if a clock change skips its only opening of the week.
const DAYS_AHEAD = 15;

/**
 * `at` if the window is open then or there is no window, else the next opening. If a clock change skips the start, the
 * window opens at the change.
 * @throws RangeError for a window that never opens (days outside 0 to 6) or an unknown zone.
 */
export function clampToWindow(window: SendWindow | undefined, at: Date): Date {
  if (!window || isOpen(window, at)) return at;
  return nextOpening(window, at);
}

/** Whether a message is scheduled for the next opening of a window that is closed now. */
export const awaitsOpening = (window: SendWindow, scheduledAt: Date, now: Date): boolean =>
  scheduledAt > now && clampToWindow(window, now).getTime() === scheduledAt.getTime();

/** The first start of the window after `at`, whether or not it is open at `at`. */
export function nextOpening(window: SendWindow, at: Date): Date {
  const today = wallClock(window.timezone, at);
  for (let ahead = 0; ahead <= DAYS_AHEAD; ahead++) {
    const start = wallTime(today, ahead, window.start ?? '00:00');
    const opening = fromWallClock(window.timezone, start) ?? openingNearChange(window.timezone, start);
    if (opening > at && isOpen(window, opening)) return opening;
  }
  throw new RangeError('the send window never opens');
}

function isOpen(window: SendWindow, at: Date): boolean {
  const local = wallClock(window.timezone, at);
  const time = local.toISOString().slice(-13, -8);
  const { start = '00:00', end = '24:00' } = window;
  const day = local.getUTCDay();
  if (start < end) return time >= start && time < end && startsOn(window, day);
  return (time >= start && startsOn(window, day)) || (time < end && startsOn(window, (day + 6) % 7));
}

const startsOn = ({ days }: SendWindow, day: number): boolean => days?.includes(day) ?? true;

/** When the clocks show `start`; when they change, if the change skips it. */
function openingNearChange(timezone: string, start: Date): Date {
  const wall = Time.PlainDateTime.from(start.toISOString().slice(0, -1));
  const opening = wall.toZonedDateTime(timezone);
  const skipped = !opening.toPlainDateTime().equals(wall);
  const landing = skipped ? opening.add({ nanoseconds: 1 }).getTimeZoneTransition('previous') : null;
  return toDate(landing ?? opening);
}
