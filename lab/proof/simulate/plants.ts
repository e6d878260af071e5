import type { SendWindow } from '../../../domain/sending/send-window.ts';
import type { PacedLine } from '../../../domain/sending/holds.ts';
import type { Violation } from './check-log.ts';
import type { Job } from './line-driver.ts';

/** A mistake that the rules are made to make: they get other lines and messages than the checker. */
export interface Plant {
  line?(line: PacedLine): PacedLine;
  job?(job: Job): Job;
  /** What the checker is to notice. */
  shows: Violation['rule'];
}

const MINUTE = 60_000;

/** The mistakes by name, each the smallest of its kind. */
export const PLANTS: Readonly<Record<string, Plant>> = {
  total: { line: (line) => ({ ...line, dailyTotal: line.dailyTotal + 1 }), shows: 'daily_total_cap' },
  new: { line: (line) => ({ ...line, dailyNew: line.dailyNew + 1 }), shows: 'daily_new_cap' },
  hour: {
    line: (line) => ({ ...line, hourlyNew: line.hourlyNew === null ? null : line.hourlyNew + 1 }),
    shows: 'hourly_new_cap',
  },
  'warm-up': {
    line: (line) => ({
      ...line,
      warmupStartedAt: line.warmupStartedAt && new Date(line.warmupStartedAt.getTime() - 24 * 60 * MINUTE),
    }),
    shows: 'daily_new_cap',
  },
  'line-gap': {
    line: (line) => ({ ...line, minGapSeconds: line.minGapSeconds * 0.9 }),
    shows: 'line_gap',
  },
  'contact-gap': {
    line: (line) => ({ ...line, contactGapSeconds: Math.max(0, line.contactGapSeconds - 5) }),
    shows: 'contact_gap',
  },
  // It closes a minute late.
  window: {
    job: inWindow(({ end, ...rest }) => ({ ...rest, ...(end && { end: later(end) }) })),
    shows: 'send_window',
  },
  // It is open on every day.
  'day-off': {
    job: inWindow((window) => ({ ...window, days: [0, 1, 2, 3, 4, 5, 6] })),
    shows: 'send_window',
  },
  // Clocks do not change.
  clock: {
    line: (line) => ({ ...line, timezone: unchanging(line.timezone) }),
    job: inWindow((window) => ({ ...window, timezone: unchanging(window.timezone) })),
    shows: 'send_window',
  },
  early: {
    job: (job) => ({ ...job, scheduledAt: new Date(job.scheduledAt.getTime() - MINUTE) }),
    shows: 'early',
  },
};

function inWindow(change: (window: SendWindow) => SendWindow): (job: Job) => Job {
  return ({ window, ...job }) => ({ ...job, ...(window && { window: change(window) }) });
}

function later(time: string): string {
  const minutes = (Number(time.slice(0, 2)) * 60 + Number(time.slice(3)) + 1) % 1440;
  return new Date(minutes * MINUTE).toISOString().slice(11, 16);
}

/** The offset that a zone had at the beginning of 2026, as a zone. */
function unchanging(timezone: string): string {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' });
  const shown = format
    .formatToParts(new Date('2026-01-01T00:00:00Z'))
    .find(({ type }) => type === 'timeZoneName');
  const offset = shown?.value.slice('GMT'.length) ?? '';
  return offset === '' ? 'UTC' : offset;
}
