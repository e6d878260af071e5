import type { Bounds } from '#domain/base/calendar.ts';
import { dailyNewCap, hourlyNewCap } from '#domain/sending/line-limits.ts';
import type { LineHistory, PacedLine } from '#domain/sending/holds.ts';
import type { LineReason } from '#domain/sending/wait-reasons.ts';
import { stopOf } from '#domain/sending/why-it-waits.ts';
import type { Cohort, Cohorts } from './cohorts.ts';
import type { LineChange } from './line-changes.ts';
import type { SendTimes } from './send-times.ts';

/** Messages of a line that the rules treat alike. */
export interface Stream {
  isNew: boolean;
  times: SendTimes;
  cohorts: Cohorts;
  /** Part of what the forecast is about. */
  isCounted: boolean;
  /** They waited before the leads of the forecast entered. */
  isEarlier: boolean;
  /** Called with messages that were sent between two times. */
  onSent: (count: number, from: number, to: number) => void;
}

interface Look {
  /** When the stream can be sent next; `at` the time of the look: now. */
  at: number;
  reason: LineReason;
  cohort?: Cohort;
}

interface Turn {
  stream: Stream;
  cohort: Cohort;
}

/**
 * By time, then by who waited before. Leads that enter at the same time arrive in turns, so the stream with the larger
 * remaining part comes first.
 */
function isBefore({ stream, cohort: a }: Turn, { stream: other, cohort: b }: Turn): boolean {
  if (a.due !== b.due) return a.due < b.due;
  if (stream.isEarlier || other.isEarlier) return stream.isEarlier && !other.isEarlier;
  return a.count * b.added > b.count * a.added;
}

interface Hold {
  reason: LineReason;
  before: number;
  until: number;
}

type OnDays = (reason: LineReason, days: number) => void;

const NEVER = Infinity;
const DAY_MS = 86_400_000;

/**
 * One line in a forecast: sends its messages hour by hour, by the rules of domain/sending/pacing.ts with three simplifications: gaps
 * have their mean length, messages that are sent in a row are one event, and contacts do not write.
 */
export class LineRun {
  /** The current effects of its reputation. */
  line: PacedLine;
  readonly streams: Stream[] = [];
  /** The time of its next work. */
  wakeAt = NEVER;
  private readonly changes: LineChange[];
  private gap: number;
  private gapEnd: number;
  private day: Bounds | null = null;
  private hour: Bounds | null = null;
  private sentToday: number;
  private newToday: number;
  private newThisHour: number;
  private newCap = 0;
  private hourlyCap = 0;
  /** The ends of the hours and days in which caps were used up; 0: none. See `UsedUp`. */
  private readonly usedUp = { dailyTotal: 0, dailyNew: 0, hourlyNew: 0 };
  /** How long counted messages waited for each reason today, in milliseconds. */
  private waits = new Map<LineReason, number>();
  /** What the line waited for last. */
  private lastReason: LineReason = 'scheduled';
  private readonly onDay: OnDays;
  /** Why it sends nothing until somebody changes that; null: it sends. */
  private readonly stop: LineReason | null;

  /** @param options.onDay called with the days on which something counted was left, and what limited the line on them. */
  constructor(
    line: PacedLine,
    {
      history,
      changes = [],
      now,
      onDay,
    }: {
      history: LineHistory;
      changes?: readonly LineChange[] | undefined;
      now: number;
      onDay: OnDays;
    },
  ) {
    this.line = line;
    this.changes = [...changes];
    this.onDay = onDay;
    this.stop = stopOf(line, new Date(now));
    this.gap = meanGap(line);
    this.gapEnd = history.lastSentAt && this.gap > 0 ? history.lastSentAt.getTime() + this.gap : 0;
    ({ sentToday: this.sentToday, newToday: this.newToday, newThisHour: this.newThisHour } = history);
    const { dailyTotal, dailyNew, hourlyNew } = line.usedUp;
    const past = (end: Date | null): number => (end !== null && end.getTime() <= now ? end.getTime() : 0);
    this.usedUp = { dailyTotal: past(dailyTotal), dailyNew: past(dailyNew), hourlyNew: past(hourlyNew) };
  }

  add(stream: Stream): Stream {
    this.streams.push(stream);
    return stream;
  }

  /** Queues messages. @param from when they were to be sent, if their times postponed them until `due`. */
  queue(stream: Stream, due: number, count: number, from = due): void {
    stream.cohorts.add(due, count);
    if (this.stop === null && from < this.wakeAt) this.wakeAt = from;
  }

  /** Sends what it may send from a time until the end of its hour. */
  run(hour: Bounds, day: Bounds, from: number): void {
    this.begin(hour, day);
    const end = hour.end.getTime();
    let now = Math.max(this.wakeAt, from, this.gapEnd);
    while (now < end) {
      const { open, next, reason } = this.look(now);
      if (open) now = this.send(open.stream, open.cohort, now, Math.min(end, next));
      else {
        this.waited(reason, next - now);
        this.lastReason = reason;
        now = next;
      }
    }
    this.wakeAt = now;
  }

  /** Ends the day, as far as it has come. @param days of the forecast, on all of which a stopped line sent nothing. */
  finish(days: number): void {
    if (this.stop !== null && this.hasCounted()) this.onDay(this.stop, days);
    if (this.day) this.onDay(this.limitOfDay(), 1);
  }

  private begin(hour: Bounds, day: Bounds): void {
    if (this.day?.start.getTime() !== day.start.getTime()) {
      if (this.day) {
        if (this.hasCounted()) {
          this.onDay(this.limitOfDay(), 1);
          this.onDay(this.lastReason, Math.round((day.start.getTime() - this.day.end.getTime()) / DAY_MS));
        }
        [this.sentToday, this.newToday] = [0, 0];
      }
      this.day = day;
      this.waits = new Map();
      this.newCap = dailyNewCap(this.line, day.start);
    }
    for (let [next] = this.changes; next && next.from <= hour.start; [next] = this.changes) {
      const { from: _, ...change } = next;
      this.line = { ...this.line, ...change };
      this.gap = meanGap(this.line);
      this.newCap = dailyNewCap(this.line, day.start);
      this.changes.shift();
    }
    if (this.hour?.start.getTime() !== hour.start.getTime()) {
      if (this.hour) this.newThisHour = 0;
      this.hour = hour;
      this.hourlyCap = hourlyNewCap(this.line, hour.start);
    }
    this.rememberCaps();
  }

  private rememberCaps(): void {
    const [day, hour] = [this.day?.end.getTime() ?? 0, this.hour?.end.getTime() ?? 0];
    if (this.sentToday >= this.line.dailyTotal) this.usedUp.dailyTotal = day;
    if (this.newToday >= this.newCap) this.usedUp.dailyNew = day;
    if (this.newThisHour >= this.hourlyCap) this.usedUp.hourlyNew = this.hourlyCap === 0 ? day : hour;
  }

  /** The first message that may be sent now, and when another one may at the latest be earlier in turn. */
  private look(now: number) {
    let open: Turn | null = null;
    let next = NEVER;
    let counted: Look | null = null;
    for (const stream of this.streams) {
      if (stream.cohorts.total === 0) continue;
      const look = this.lookAt(stream, now);
      if (look.cohort) {
        const turn = { stream, cohort: look.cohort };
        if (!open || isBefore(turn, open)) open = turn;
      } else if (look.at < next) next = look.at;
      if (!look.cohort && stream.isCounted && (!counted || look.at < counted.at)) counted = look;
    }
    return { open, next, reason: counted?.reason ?? 'scheduled' };
  }

  private lookAt({ cohorts, times, isNew }: Stream, now: number): Look {
    const holds = this.holdsOn(times, isNew, now);
    const since = holds.reduce((latest, { before }) => Math.max(latest, before), 0);
    const cohort = cohorts.first(since);
    if (cohort && cohort.due <= now) return { at: now, reason: 'scheduled', cohort };
    const later = cohort ? cohort.due : NEVER;
    const head = cohorts.first(0);
    // Messages that are due at the opening were postponed to it.
    const isPostponed = later > now && later === times.opening(now);
    const reason = isPostponed ? times.closedBy(now) : 'scheduled';
    if (!head || head === cohort) return { at: later, reason };
    const held = longest(holds, head.due);
    return held && held.until < later ? { at: held.until, reason: held.reason } : { at: later, reason };
  }

  /** The holds that are not over; compare `holdsOn` of domain/sending/pacing.ts. */
  private holdsOn(times: SendTimes, isNew: boolean, now: number): Hold[] {
    const holds: Hold[] = [];
    const add = (reason: LineReason, before: number, until: number): void => {
      if (until > now) holds.push({ reason, before, until });
    };
    const { dailyTotal, dailyNew, hourlyNew } = this.usedUp;
    if (dailyTotal > 0) add('daily_total_cap', dailyTotal, times.morning(dailyTotal));
    if (isNew && dailyNew > 0) add('daily_new_cap', dailyNew, times.morning(dailyNew));
    const restsUntil = this.line.restsUntil?.getTime() ?? 0;
    if (isNew && restsUntil > 0) add('line_resting', restsUntil, times.opening(restsUntil));
    const opening = times.opening(now);
    if (opening > now) add(times.closedBy(now), opening, opening);
    if (isNew && hourlyNew > 0)
      add(
        'hourly_new_cap',
        hourlyNew,
        this.hourlyCap === 0 ? times.morning(hourlyNew) : times.opening(hourlyNew),
      );
    return holds;
  }

  /** Sends as many in a row as the caps, the window and the hour allow. @returns when the line may send again. */
  private send(stream: Stream, cohort: Cohort, now: number, end: number): number {
    const closes = stream.times.closing(now, end);
    const room = Math.min(
      cohort.count,
      this.line.dailyTotal - this.sentToday,
      ...(stream.isNew ? [this.newCap - this.newToday, this.hourlyCap - this.newThisHour] : []),
      this.gap > 0 ? Math.floor((closes - 1 - now) / this.gap) + 1 : Infinity,
    );
    stream.cohorts.take(cohort, room);
    this.sentToday += room;
    if (stream.isNew) {
      this.newToday += room;
      this.newThisHour += room;
    }
    this.rememberCaps();
    this.gapEnd = now + room * this.gap;
    if (this.hasCounted()) this.waited('line_gap', room * this.gap);
    stream.onSent(room, now, now + (room - 1) * this.gap);
    return Math.max(now, this.gapEnd);
  }

  private hasCounted(): boolean {
    return this.streams.some(({ isCounted, cohorts }) => isCounted && cohorts.total > 0);
  }

  private waited(reason: LineReason, time: number): void {
    if (Number.isFinite(time)) this.waits.set(reason, (this.waits.get(reason) ?? 0) + time);
  }

  /** A daily cap that was used up, otherwise what the line waited for the longest. */
  private limitOfDay(): LineReason {
    const end = this.day?.end.getTime();
    if (this.usedUp.dailyTotal === end) return 'daily_total_cap';
    if (this.usedUp.dailyNew === end) return 'daily_new_cap';
    return [...this.waits].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? 'scheduled';
  }
}

const meanGap = ({ minGapSeconds, gapFactor = 1 }: PacedLine): number => minGapSeconds * 1000 * gapFactor;

const longest = (holds: readonly Hold[], due: number): Hold | null =>
  holds.reduce<Hold | null>(
    (found, hold) => (due < hold.before && (!found || hold.until > found.until) ? hold : found),
    null,
  );
