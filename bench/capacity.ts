import { hourBounds } from '#domain/calendar.ts';
import { dailyNewCap, hourlyNewCap } from '#domain/line-limits.ts';
import { isWithin, wallClock } from './check-log.ts';
import type { Job, Sent } from './line-driver.ts';
import type { LineWork } from './workload.ts';

/** One local hour of a line. */
export interface LineHour {
  start: Date;
  end: Date;
  cap: number;
  /** New conversations opened. */
  made: number;
  /** The line was up and the window of its drips open, all through the hour. */
  open: boolean;
}

export interface Use {
  made: number;
  allowed: number;
}

interface Wait {
  from: number;
  to: number;
}

/**
 * How much of what the caps allowed a line sent where work was waiting, over the local days that lie whole in the
 * month.
 *
 * On each day: the strangers who waited at the start of an hour in which they could have been sent, counted from
 * the time they were first scheduled and whatever they were moved to since. Allowed are as many of them as the
 * hourly caps let go when no hour goes to waste, up to what else the line sent leaves of the caps. A day on which
 * known contacts waited from its first hour to its last allows the daily total instead.
 */
export function capacityUse(
  work: LineWork,
  sent: readonly Sent[],
  hours: readonly LineHour[],
  until: Date,
): Use {
  const { line } = work;
  const days = Map.groupBy(hours, ({ start }) => wallClock(line.timezone, start).date);
  days.delete(wallClock(line.timezone, until).date);
  const sentOn = Map.groupBy(sent, ({ at }) => wallClock(line.timezone, at).date);
  const known = waits(
    work.jobs.filter(({ wroteAt }) => wroteAt),
    sent,
  );
  const strangers = waits(strangersOf(work, sent), sent);
  const use: Use = { made: 0, allowed: 0 };

  for (const [date, hoursOfDay] of days) {
    const first = hoursOfDay[0]!.start.getTime();
    const last = hoursOfDay.at(-1)!.start.getTime();
    const today = sentOn.get(date) ?? [];
    if (!isDown(work, first, last) && known.some(({ from, to }) => from <= first && to > last)) {
      use.made += today.length;
      use.allowed += line.dailyTotal;
      continue;
    }
    const openHours = hoursOfDay.filter(({ open }) => open);
    const waiting = strangers.filter((wait) => openHours.some(({ start }) => waitsAt(wait, start)));
    const made = countSent(waiting, hoursOfDay[0]!.start, hoursOfDay.at(-1)!.end);
    const besides = today.filter(({ isNew }) => isNew).length - made;
    const allowed = Math.min(
      allowedByHours(openHours, waiting),
      dailyNewCap(line, hoursOfDay[0]!.start) - besides,
      line.dailyTotal - (today.length - made),
    );
    use.made += Math.min(made, Math.max(0, allowed));
    use.allowed += Math.max(0, allowed);
  }
  return use;
}

/** How many of those waiting the caps of the hours let go when each hour takes all it can. */
function allowedByHours(hours: readonly LineHour[], waiting: readonly Wait[]): number {
  return hours.reduce((gone, { start, end, cap, made }) => {
    const besides = made - countSent(waiting, start, end);
    const present = waiting.filter(({ from }) => from <= start.getTime()).length - gone;
    return gone + Math.min(cap - besides, present);
  }, 0);
}

const countSent = (waits: readonly Wait[], from: Date, to: Date): number =>
  waits.filter((wait) => wait.to >= from.getTime() && wait.to < to.getTime()).length;

/** The local hours of a line between two instants. */
export function lineHours(work: LineWork, sent: readonly Sent[], begin: Date, until: Date): LineHour[] {
  const { line } = work;
  const opened = sent.filter(({ isNew }) => isNew).map(({ at }) => at.getTime());
  const hours: LineHour[] = [];
  let bounds = hourBounds(line.timezone, begin);
  for (; bounds.start < until; bounds = hourBounds(line.timezone, bounds.end)) {
    const [from, to] = [bounds.start.getTime(), bounds.end.getTime()];
    hours.push({
      ...bounds,
      cap: hourlyNewCap(line, bounds.start),
      made: opened.filter((at) => at >= from && at < to).length,
      open: isOpen(work, from, to),
    });
  }
  return hours;
}

const waitsAt = ({ from, to }: Wait, at: Date): boolean => from <= at.getTime() && to >= at.getTime();

/** From when to when messages waited, by their first schedule. */
function waits(jobs: readonly Job[], sent: readonly Sent[]): Wait[] {
  const at = new Map(sent.map((send) => [send.job.id, send.at.getTime()]));
  return jobs.map(({ id, scheduledAt }) => ({ from: scheduledAt.getTime(), to: at.get(id) ?? Infinity }));
}

function strangersOf({ jobs }: LineWork, sent: readonly Sent[]): Job[] {
  const met = new Set(sent.filter(({ isNew }) => !isNew).map(({ job }) => job.id));
  return jobs.filter(({ id, wroteAt }) => !wroteAt && !met.has(id));
}

const isDown = ({ outages }: LineWork, from: number, to: number): boolean =>
  outages.some((outage) => outage.from.getTime() < to && outage.to.getTime() > from);

/** All strangers of a line share one window. */
function isOpen(work: LineWork, from: number, to: number): boolean {
  const window = work.jobs.find((job) => job.window)?.window;
  const inWindow = !window || (isWithin(window, new Date(from)) && isWithin(window, new Date(to - 1)));
  return inWindow && !isDown(work, from, to);
}
