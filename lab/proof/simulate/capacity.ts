import { hourBounds } from '../../../domain/base/calendar.ts';
import { dailyNewCap, hourlyNewCap } from '../../../domain/sending/line-limits.ts';
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
  /** Whether the line was up and its send window open during the whole hour. */
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
 * The share of its caps that a line used while work was waiting, over the whole local days of the month.
 *
 * For each day it takes the messages to new contacts that waited at the start of an hour in which they could have been
 * sent, from the time they were first scheduled. Allowed are as many of them as the hourly caps admit if every hour is
 * used fully, within what the line's other sends leave of the caps. If messages to known contacts waited during the
 * whole day, the daily total is allowed instead.
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
  const newContacts = waits(newContactsOf(work, sent), sent);
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
    const waiting = newContacts.filter((wait) => openHours.some(({ start }) => waitsAt(wait, start)));
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

/** How many of the waiting messages the hourly caps admit if every hour is used fully. */
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

/** The time during which each message waited, from when it was first scheduled. */
function waits(jobs: readonly Job[], sent: readonly Sent[]): Wait[] {
  const at = new Map(sent.map((send) => [send.job.id, send.at.getTime()]));
  return jobs.map(({ id, scheduledAt }) => ({ from: scheduledAt.getTime(), to: at.get(id) ?? Infinity }));
}

function newContactsOf({ jobs }: LineWork, sent: readonly Sent[]): Job[] {
  const met = new Set(sent.filter(({ isNew }) => !isNew).map(({ job }) => job.id));
  return jobs.filter(({ id, wroteAt }) => !wroteAt && !met.has(id));
}

const isDown = ({ outages }: LineWork, from: number, to: number): boolean =>
  outages.some((outage) => outage.from.getTime() < to && outage.to.getTime() > from);

/** All messages to new contacts of a line share one window. */
function isOpen(work: LineWork, from: number, to: number): boolean {
  const window = work.jobs.find((job) => job.window)?.window;
  const inWindow = !window || (isWithin(window, new Date(from)) && isWithin(window, new Date(to - 1)));
  return inWindow && !isDown(work, from, to);
}
