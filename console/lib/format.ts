/** Formats times in the workspace's time zone, numbers and addresses. */
import { formatLocale } from './locale.ts';
import { workspaceNow } from './workspace-time.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = timeZone + JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(formatLocale, { timeZone, ...options });
  formats.set(key, known);
  return known;
}

type Moment = string | Date;

/** 09:41 */
export const timeOf = (at: Moment, zone: string): string =>
  formatOf(zone, { hour: '2-digit', minute: '2-digit' }).format(new Date(at));

/** 12 Mar, with the year unless it is the current one */
export function dateOf(at: Moment, zone: string, now = workspaceNow()): string {
  const day = new Date(at);
  const sameYear =
    formatOf(zone, { year: 'numeric' }).format(day) === formatOf(zone, { year: 'numeric' }).format(now);
  return formatOf(zone, { day: 'numeric', month: 'short', ...(!sameYear && { year: 'numeric' }) }).format(
    day,
  );
}

/** 12 Mar, 09:41:07 */
export const exactTimeOf = (at: Moment, zone: string): string =>
  formatOf(zone, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).format(new Date(at));

/** Thursday, 12 March */
export const longDateOf = (at: Moment, zone: string): string =>
  formatOf(zone, { weekday: 'long', day: 'numeric', month: 'long' }).format(new Date(at));

/** 12 Mar 2026, 09:41:07 GMT+1 */
export const fullTimeOf = (at: Moment, zone: string): string =>
  formatOf(zone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  }).format(new Date(at));

/** `YYYY-MM-DD` in the zone, for comparisons and for the API. */
export function dayOf(at: Moment, zone: string): string {
  const parts = formatOf(zone, { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(
    new Date(at),
  );
  const part = (type: string): string => parts.find((found) => found.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
}

const RELATIVE = new Intl.RelativeTimeFormat(formatLocale, { numeric: 'auto' });

/** Today, Yesterday, or the date */
export function dayNameOf(at: Moment, zone: string, now = workspaceNow()): string {
  const day = dayOf(at, zone);
  if (day === dayOf(now, zone)) return capitalised(RELATIVE.format(0, 'day'));
  if (day === dayOf(new Date(now.getTime() - 86_400_000), zone))
    return capitalised(RELATIVE.format(-1, 'day'));
  return dateOf(at, zone, now);
}

/** The time for today, otherwise the day, for lists. */
export const shortTimeOf = (at: Moment, zone: string, now = workspaceNow()): string =>
  dayOf(at, zone) === dayOf(now, zone) ? timeOf(at, zone) : dayNameOf(at, zone, now);

const STEPS = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [7, 'day'],
] as const;

/** in 5 minutes, 2 hours ago */
export function relativeTimeOf(at: Moment, now = workspaceNow()): string {
  let amount = (new Date(at).getTime() - now.getTime()) / 1000;
  if (Math.abs(amount) < 5) return RELATIVE.format(0, 'second');
  for (const [length, unit] of STEPS) {
    if (Math.abs(amount) < length) return RELATIVE.format(Math.round(amount), unit);
    amount /= length;
  }
  return RELATIVE.format(Math.round(amount), 'week');
}

const NUMBER = new Intl.NumberFormat(formatLocale);
export const numberOf = (value: number): string => NUMBER.format(value);

const PERCENT = new Intl.NumberFormat(formatLocale, { style: 'percent', maximumFractionDigits: 1 });
/** @param share from 0 to 1; null if nothing was counted. */
export const percentOf = (share: number | null): string => (share === null ? '–' : PERCENT.format(share));

/** $49.00 @param amount in the smallest unit of the currency. */
export function moneyOf(amount: number, currency: string): string {
  const format = new Intl.NumberFormat(formatLocale, { style: 'currency', currency });
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}

const POINTS = new Intl.NumberFormat(formatLocale, { maximumFractionDigits: 1 });

/** The difference of two shares, in percentage points. */
export const pointsOf = (difference: number): string => POINTS.format(difference * 100);
const UNITS = ['kilobyte', 'megabyte', 'gigabyte'] as const;

/** 24 kB, 1.3 MB; at least 1 kB */
export function bytesOf(bytes: number): string {
  const known = Math.max(bytes, 1000);
  const power = Math.min(UNITS.length, Math.floor(Math.log10(known) / 3));
  return new Intl.NumberFormat(formatLocale, {
    style: 'unit',
    unit: UNITS[power - 1] ?? 'kilobyte',
    unitDisplay: 'short',
    maximumFractionDigits: power > 1 ? 1 : 0,
  }).format(known / 1000 ** power);
}

/** Seconds as 1:07 */
export function clockOf(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** +1 415 555 0123; other addresses unchanged */
export function addressName(address: string): string {
  const [, area, exchange, number] = /^\+1(\d{3})(\d{3})(\d{4})$/.exec(address) ?? [];
  return area === undefined ? address : `+1 ${area} ${exchange} ${number}`;
}

/** Several names in a sentence. */
export const listOf = (names: readonly string[], type: Intl.ListFormatType = 'conjunction'): string =>
  new Intl.ListFormat(formatLocale, { type }).format(names);

/** `awaiting_payment` → Awaiting payment */
export const wordsOf = (name: string): string => capitalised(name.replaceAll(/[_-]/g, ' '));

export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
