import type { PacedLine } from '../../../domain/sending/holds.ts';
import type { SendWindow } from '../../../domain/sending/send-window.ts';
import type { Job, Sent } from './line-driver.ts';

/** A violation of a rule in a log of sends. */
export interface Violation {
  rule:
    | 'twice'
    | 'early'
    | 'line_gap'
    | 'contact_gap'
    | 'send_window'
    | 'recipient_quiet_hours'
    | 'hourly_new_cap'
    | 'daily_new_cap'
    | 'daily_total_cap';
  lineId: string;
  at: Date;
}

const formats = new Map<string, Intl.DateTimeFormat>();

interface WallClock {
  date: string;
  /** Date, hour and offset, which distinguish the two passes of a repeated hour. */
  hour: string;
  time: string;
  weekday: number;
}

/** A message of a line, sent or not. */
export type Queued = Pick<Sent, 'lineId' | 'job'>;

/**
 * Checks every cap, gap and window from the log alone. It shares no code with the rules: it reads days and hours from the
 * wall clock as text.
 * @param sends in the order in which they happened.
 * @param unsent messages that still wait. Their contacts may have written, and are not new then.
 */
export function findViolations(
  lines: readonly PacedLine[],
  sends: readonly Sent[],
  unsent: readonly Queued[] = [],
): Violation[] {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const counts = new Map<string, number>();
  const met = new Set(
    [...sends, ...unsent]
      .filter(({ job }) => job.wroteAt)
      .map(({ lineId, job }) => `${lineId} ${job.address}`),
  );
  const seen = new Set<string>();
  const lineLast = new Map<string, number>();
  const contactLast = new Map<string, number>();
  const found: Violation[] = [];

  for (const { lineId, job, at } of sends) {
    const line = byId.get(lineId)!;
    const report = (rule: Violation['rule']): number => found.push({ rule, lineId, at });
    const count = (key: string): number => {
      const next = (counts.get(`${lineId} ${key}`) ?? 0) + 1;
      counts.set(`${lineId} ${key}`, next);
      return next;
    };
    const clock = wallClock(line.timezone, at);
    const time = at.getTime();

    if (seen.has(job.id)) report('twice');
    seen.add(job.id);
    if (at < job.scheduledAt) report('early');
    if (time - (lineLast.get(lineId) ?? -Infinity) < line.minGapSeconds * 500) report('line_gap');
    lineLast.set(lineId, time);
    if (time - (contactLast.get(job.address) ?? -Infinity) < line.contactGapSeconds * 1000)
      report('contact_gap');
    contactLast.set(job.address, time);
    if (job.window && !isWithin(job.window, at)) report('send_window');
    if (!isAwake(line, job, at)) report('recipient_quiet_hours');

    if (count(`total ${clock.date}`) > line.dailyTotal) report('daily_total_cap');
    if (met.has(`${lineId} ${job.address}`)) continue;
    met.add(`${lineId} ${job.address}`);
    if (count(`new ${clock.date}`) > dailyNew(line, clock.date)) report('daily_new_cap');
    if (count(`new ${clock.hour}`) > (line.hourlyNew ?? (line.channel === 'email' ? 20 : 7)))
      report('hourly_new_cap');
  }
  return found;
}

function dailyNew(line: PacedLine, date: string): number {
  if (!line.warmupStartedAt) return line.dailyNew;
  const first = wallClock(line.timezone, line.warmupStartedAt).date;
  const days = (Date.parse(date) - Date.parse(first)) / 86_400_000;
  return Math.min(line.dailyNew, 20 + 2 * Math.max(0, days));
}

/** Whether the clocks of all zones of the recipient show a time within the quiet hours' start and end. */
function isAwake({ quiet, timezone: home }: PacedLine, { recipient, wroteAt }: Job, at: Date): boolean {
  const hours = quiet?.workspace;
  const hasJustWritten = wroteAt !== null && wroteAt <= at && at.getTime() - wroteAt.getTime() < 86_400_000;
  if (!recipient || hasJustWritten || !hours?.enabled || !hours.appliesTo.includes(recipient.kind))
    return true;
  const { start, end } = hours;
  return (recipient.zones ?? [home]).every((timezone) => isWithin({ timezone, start, end }, at));
}

export function isWithin(
  { timezone, start = '00:00', end = '24:00', days = [0, 1, 2, 3, 4, 5, 6] }: SendWindow,
  at: Date,
): boolean {
  const { time, weekday } = wallClock(timezone, at);
  const yesterday = weekday === 0 ? 6 : weekday - 1;
  const startedToday = days.includes(weekday) && time >= start && (end <= start || time < end);
  const startedYesterday = days.includes(yesterday) && end <= start && time < end;
  return startedToday || startedYesterday;
}

export function wallClock(timezone: string, at: Date): WallClock {
  const format =
    formats.get(timezone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      timeZoneName: 'longOffset',
    });
  formats.set(timezone, format);
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const date = `${parts.year}-${parts.month}-${parts.day}`;
  return {
    date,
    hour: `${date} ${parts.hour} ${parts.timeZoneName}`,
    time: `${parts.hour}:${parts.minute}`,
    weekday: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(parts.weekday ?? ''),
  };
}
