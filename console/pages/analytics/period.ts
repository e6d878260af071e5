import { msg } from '@lingui/core/macro';
import { dayOf } from '#console/lib/format.ts';
import type { Search } from '#console/lib/search.ts';

type Interval = 'hour' | 'day' | 'week';

/** Days of the workspace's calendar, both included, and how the series divides them. */
export interface Period {
  dateFrom: string;
  dateTo: string;
  interval: Interval;
}

export const CUSTOM = 'custom';
export const DEFAULT_PERIOD = '30';

/** By the number of days, today included. */
export const PERIODS = [
  { value: '1', label: msg`Today` },
  { value: '7', label: msg`Last 7 days` },
  { value: '30', label: msg`Last 30 days` },
  { value: '90', label: msg`Last 90 days` },
  { value: '365', label: msg`Last 12 months` },
  { value: CUSTOM, label: msg`Other dates` },
];

const DAY_MS = 86_400_000;
/** The most days that are divided into hours, and into days. */
const MOST_DAYS = { hour: 2, day: 120 };

/** The period in the address of the page: `period=90`, or `period=custom&from=2026-01-01&to=2026-01-31`. */
export function periodOf({ period = DEFAULT_PERIOD, from, to }: Search, zone: string, now: Date): Period {
  const today = dayOf(now, zone);
  if (period === CUSTOM) {
    const dateTo = to ?? today;
    const dateFrom = from ?? dateTo;
    return { dateFrom, dateTo, interval: intervalFor(daysBetween(dateFrom, dateTo)) };
  }
  const days = PERIODS.some(({ value }) => value === period) ? Number(period) : Number(DEFAULT_PERIOD);
  const dateFrom = dayOf(new Date(now.getTime() - (days - 1) * DAY_MS), zone);
  return { dateFrom, dateTo: today, interval: intervalFor(days) };
}

const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;

function intervalFor(days: number): Interval {
  if (days <= MOST_DAYS.hour) return 'hour';
  return days <= MOST_DAYS.day ? 'day' : 'week';
}
