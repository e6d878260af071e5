import { daysBetween, toZoned } from '../base/calendar.ts';

const clock = (at: Date, zone: string): string =>
  toZoned(zone, at).toPlainTime().toString({ smallestUnit: 'minute' });

/** `today`, `tomorrow` or `on` a date. */
function day(at: Date, now: Date, zone: string): string {
  const days = daysBetween(zone, now, at);
  if (days === 0) return 'today';
  if (days === 1) return 'tomorrow';
  const date = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    day: 'numeric',
    month: 'long',
    year: days > 300 ? 'numeric' : undefined,
  });
  return `on ${date.format(at)}`;
}

/** A time, relative to `now`. */
export const momentText = (at: Date, now: Date, zone: string): string =>
  `${day(at, now, zone).replace(/^on /, '')} at ${clock(at, zone)} ${zone}`;

/** A time at which something happens, to the second if it is near. */
export function soonText(until: Date, now: Date, zone: string): string {
  const left = Math.ceil((until.getTime() - now.getTime()) / 1000);
  if (left <= 0) return 'in a moment';
  return left < 120
    ? `in ${left} second${left === 1 ? '' : 's'}`
    : `${day(until, now, zone)} at ${clock(until, zone)} ${zone}`;
}

/** A time from which something may happen. */
export const fromText = (until: Date, now: Date, zone: string): string =>
  `${day(until, now, zone)} from ${clock(until, zone)} ${zone}`;
