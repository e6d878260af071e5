import { DEFAULT_LIMITS } from '../../../domain/sending/line-limits.ts';
import type { PacedLine } from '../../../domain/sending/holds.ts';
import type { SendWindow } from '../../../domain/sending/send-window.ts';
import type { Job, Outage } from './line-driver.ts';

/** A line with a month of work. */
export interface LineWork {
  workspace: number;
  line: PacedLine;
  jobs: Job[];
  outages: Outage[];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Except in Kolkata, the clocks change between 7 March and 6 April 2026. */
export const ZONES = [
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'America/Santiago',
] as const;

/**
 * Generates a month of work for `count` lines, with a workspace per zone, determined by the seed: a weekly burst of drips
 * to new contacts that exceeds the daily caps, daily follow-ups and replies, and occasional outages.
 */
export function makeWorkload(count: number, begin: Date, days: number, seed: number): LineWork[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, index) => {
    const line = makeLine(index, begin);
    return {
      workspace: index % ZONES.length,
      line,
      jobs: makeJobs(index, line, begin, days, random),
      outages: index % 6 === 1 ? [outage(begin, days, random)] : [],
    };
  });
}

function makeLine(index: number, begin: Date): PacedLine {
  const channel = index % 10 === 9 ? 'email' : index % 10 === 8 ? 'sms' : 'imessage';
  const byHand = index % 8 === 3;
  return {
    id: `line-${String(index + 1).padStart(2, '0')}`,
    channel,
    active: true,
    down: false,
    timezone: ZONES[index % ZONES.length] ?? 'UTC',
    ...DEFAULT_LIMITS[channel],
    ...(byHand && { dailyTotal: 90, dailyNew: 40, hourlyNew: 10, minGapSeconds: 0 }),
    warmupStartedAt: index % 5 === 0 && channel !== 'email' ? begin : null,
    usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
  };
}

function makeJobs(index: number, line: PacedLine, begin: Date, days: number, random: () => number): Job[] {
  const jobs: Omit<Job, 'id'>[] = [];
  const window = windowOf(index, line.timezone);
  const newContact = (number: number): string =>
    // Some contacts are shared with other lines of the workspace, to exercise the contact gap.
    number % 20 === 0
      ? `workspace ${index % ZONES.length} contact ${number}`
      : `${line.id} contact ${number}`;
  const burst = line.dailyNew * 6;

  for (let week = 0; week * 7 < days; week++) {
    const accepted = begin.getTime() + week * 7 * DAY + Math.floor(random() * DAY);
    for (let number = 0; number < burst; number++) {
      const scheduledAt = new Date(accepted + 30_000 + Math.floor(random() * 5 * MINUTE));
      const address = newContact(week * burst + number);
      jobs.push({ address, scheduledAt, wroteAt: null, ...(window && { window }) });
    }
  }
  for (let day = 1; day < days; day++) {
    const known = Math.floor(random() * 15);
    for (let number = 0; number < known; number++) {
      const at = begin.getTime() + day * DAY + Math.floor(random() * DAY);
      const wroteAt = new Date(at - Math.floor(random() * 40 * HOUR));
      jobs.push({
        address: `${line.id} writer ${Math.floor(random() * 60)}`,
        scheduledAt: new Date(at),
        wroteAt,
      });
    }
  }
  if (index % 12 === 5) jobs.push(...campaignToCustomers(line, begin));
  return jobs
    .toSorted((a, b) => a.scheduledAt.getTime() - b.scheduledAt.getTime())
    .map((job, number) => ({ ...job, id: `${line.id} ${number}` }));
}

/** Messages to contacts who have written before, held only by the daily total. */
function campaignToCustomers(line: PacedLine, begin: Date): Omit<Job, 'id'>[] {
  const wroteAt = new Date(begin.getTime() - 30 * DAY);
  const scheduledAt = new Date(begin.getTime() + 10 * DAY);
  return Array.from({ length: 900 }, (_, number) => ({
    address: `${line.id} customer ${number}`,
    scheduledAt,
    wroteAt,
  }));
}

function windowOf(index: number, timezone: string): SendWindow | undefined {
  if (index % 4 === 2) return { timezone, start: '09:00', end: '17:00', days: [1, 2, 3, 4, 5] };
  if (index % 10 === 4) return { timezone, start: '18:00', end: '01:00' };
  return undefined;
}

function outage(begin: Date, days: number, random: () => number): Outage {
  const from = begin.getTime() + Math.floor(random() * (days - 1) * DAY);
  return { from: new Date(from), to: new Date(from + (1 + random() * 8) * HOUR) };
}

/** A seeded random generator of numbers in [0, 1) (Mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
