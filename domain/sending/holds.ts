import type { z } from 'zod';
import { dayBounds, hourBounds, nextMorning } from '../base/calendar.ts';
import type { Circuit } from './circuit.ts';
import { dailyNewCap, hourlyNewCap, type LimitedLine, lineGapMs } from './line-limits.ts';
import {
  firstSendTime,
  type QuietPolicy,
  type Recipient,
  type SendTimes,
  wakingHours,
} from './quiet-hours.ts';
import type { ProvisioningStatus } from '../lines/line.ts';
import type { PersonRules } from './person-holds.ts';
import { clampToWindow, nextOpening, type SendWindow } from './send-window.ts';

/**
 * The rules that hold the messages of a line for a time: caps, gaps, windows, quiet hours and rests. They keep lines from being flagged or
 * banned. Pure functions that take the time as a parameter. Messages that are held keep their place in the queue without a write.
 */

/** Why a rule holds a message. */
export type HoldReason =
  | 'daily_new_cap'
  | 'daily_total_cap'
  | 'hourly_new_cap'
  | 'line_resting'
  | 'recipient_quiet_hours'
  | 'send_window';

/** The rule that postponed a message, and until when. */
export interface Moved {
  to: Date;
  reason: HoldReason;
}

/**
 * For each cap, the end of the last local hour or day in which it was used up; null: none since the caps changed. Messages
 * that were due before that end wait for the next hour or morning.
 */
export interface UsedUp {
  hourlyNew: Date | null;
  dailyNew: Date | null;
  dailyTotal: Date | null;
}

export interface PacedLine extends LimitedLine {
  /** It is switched on. */
  active: boolean;
  /** How far it is set up; absent: completely. */
  provisioning?: z.infer<typeof ProvisioningStatus>;
  down: boolean;
  /** Why its last check failed. */
  healthReason?: string | null;
  /** It has no carrier. */
  unconnected?: boolean;
  /** Its workspace or an operator has paused it. */
  paused?: boolean;
  /** An operator has suspended the workspace. */
  suspended?: boolean;
  /** The workspace's subscription is past due or canceled. */
  pastDue?: boolean;
  /** Whether its carrier accepts messages; absent: it does. */
  circuit?: Circuit;
  /** The carrier's reason for its last failed call, if the carrier may accept nothing. */
  lastFailure?: string | null;
  /** Set while it is moved or connected to another carrier. */
  changingUntil?: Date | null;
  /** Until then it starts, or started, no conversations, because its reputation was critical. Answers continue. */
  restsUntil?: Date | null;
  /** Absent: the workspace and its campaigns have no quiet hours. */
  quiet?: QuietPolicy;
  /** Absent: the workspace has no rules about persons. */
  persons?: PersonRules;
  usedUp: UsedUp;
}

/** The line's sends of the current local day and hour. */
export interface LineHistory {
  sentToday: number;
  newToday: number;
  newThisHour: number;
  lastSentAt: Date | null;
}

/**
 * Which caps are used up at `now`. For the current hour and day, only the history counts, so that a failed send frees its
 * place. Past hours and days are remembered, because their messages may wait until the morning.
 */
export function usedUpAt(line: PacedLine, history: LineHistory, now: Date): UsedUp {
  const day = dayBounds(line.timezone, now);
  const hour = hourBounds(line.timezone, now);
  const hourlyCap = hourlyNewCap(line, hour.start);
  const end = (isUsedUp: boolean, end: Date, known: Date | null): Date | null => {
    if (isUsedUp) return end;
    return known !== null && known <= now ? known : null;
  };
  const { usedUp } = line;
  return {
    dailyTotal: end(history.sentToday >= line.dailyTotal, day.end, usedUp.dailyTotal),
    dailyNew: end(history.newToday >= dailyNewCap(line, now), day.end, usedUp.dailyNew),
    // A cap of 0 frees nothing in the next hour either, so one look a day is enough.
    hourlyNew: end(history.newThisHour >= hourlyCap, hourlyCap === 0 ? day.end : hour.end, usedUp.hourlyNew),
  };
}

/** The fields of a message that determine which rules hold it, and how long. */
export interface PacedMessage {
  scheduledAt: Date;
  /** The line has never exchanged a message with the address. */
  isNew: boolean;
  /** The contact wrote within 24 hours: not a new conversation, and sent before others. */
  isAnswer: boolean;
  window?: SendWindow;
  recipient?: Recipient;
}

/** The rules of the message itself. Quiet hours do not apply to a contact who has just written. */
export const rulesOf = ({
  window,
  recipient,
  isAnswer,
}: Pick<PacedMessage, 'window' | 'recipient' | 'isAnswer'>) => ({
  ...(window && { window }),
  ...(recipient && !isAnswer && { recipient }),
});

/** The cap or window that holds a due message, else the cap that held it last, if the line remembers one. */
export function movedBy(line: PacedLine, message: PacedMessage, now: Date): Moved | null {
  const opens = message.isNew && !message.isAnswer;
  const hold = longest(holdsOn(line, { ...rulesOf(message), opens }, now), message.scheduledAt);
  return hold && { to: hold.until, reason: hold.reason };
}

/**
 * What delayed a message that is sent now, for its timeline; null: nothing did. A line remembers its caps and its rest; which window or
 * quiet hours held the message follows from the time at which it was due.
 */
export function delayedBy(line: PacedLine, message: PacedMessage & { dueAt: Date }, now: Date): Moved | null {
  const { dueAt } = message;
  const moved = movedBy(line, message, now);
  if (now.getTime() - dueAt.getTime() < SHORTEST_DELAY_MS) return moved;
  const times = timesOf(line, rulesOf(message));
  if (!times.window && !times.quiet) return moved;
  // Not cached: the cache is for the times around now.
  const openingOf = (these: SendTimes): Date => firstSendTime(these, dueAt) ?? dueAt;
  const to = openingOf(times);
  if (to <= dueAt || to > now || (moved && moved.to >= to)) return moved;
  const isOutside = openingOf({ window: times.window }) > dueAt;
  return { to, reason: isOutside ? 'send_window' : 'recipient_quiet_hours' };
}

/** A message that is sent within this time of its due time was not delayed. */
const SHORTEST_DELAY_MS = 1000;

/** What holds an unpaced message now, and until when: its window, or the quiet hours of its recipient; null: neither. */
export function heldOutside(
  line: PacedLine,
  message: Pick<PacedMessage, 'window' | 'recipient' | 'isAnswer'>,
  now: Date,
): (Moved & { reason: 'send_window' | 'recipient_quiet_hours' }) | null {
  const times = timesOf(line, rulesOf(message));
  const to = clamp(times, now);
  if (to <= now) return null;
  return { to, reason: clamp({ quiet: times.quiet }, now) > now ? 'recipient_quiet_hours' : 'send_window' };
}

/** When the gap after the send at `lastSentAt` ends; null: the line has no gap, or has sent nothing. */
export function endOfGap(line: PacedLine, lastSentAt: Date | null): Date | null {
  if (lastSentAt === null || line.minGapSeconds === 0) return null;
  return new Date(lastSentAt.getTime() + lineGapMs(line, lastSentAt));
}

/** The ends of the hours and days in which a cap on these messages was used up, and of the line's rest. */
export const capsOf = ({ usedUp, restsUntil = null }: PacedLine, opens: boolean): Date[] =>
  [usedUp.dailyTotal, ...(opens ? [usedUp.dailyNew, usedUp.hourlyNew, restsUntil] : [])].filter(
    (end) => end !== null,
  );

/** Holds the messages that were scheduled before `before`, until `until`. */
export interface Hold {
  reason: HoldReason;
  before: Date;
  until: Date;
}

/** The data from which a message's rules are derived. */
export type Rules = Pick<PacedMessage, 'window' | 'recipient'>;

export const timesOf = ({ quiet, timezone }: PacedLine, { window, recipient }: Rules): SendTimes => ({
  window,
  quiet: quiet && recipient && wakingHours(quiet, recipient, timezone),
});

/** The holds on new or known contacts' messages with these rules. Holds of caps may be over. */
export function holdsOn(line: PacedLine, { opens, ...rules }: Rules & { opens: boolean }, now: Date): Hold[] {
  const { timezone, hourlyNew, usedUp, restsUntil = null } = line;
  const times = timesOf(line, rules);
  const holds: Hold[] = [];
  const add = (reason: HoldReason, before: Date, until: Date): number =>
    holds.push({ reason, before, until });
  const { dailyTotal, dailyNew, hourlyNew: hour } = usedUp;
  if (dailyTotal) add('daily_total_cap', dailyTotal, morningAfter(times, dailyTotal, timezone));
  if (opens && dailyNew) add('daily_new_cap', dailyNew, morningAfter(times, dailyNew, timezone));
  if (opens && restsUntil) add('line_resting', restsUntil, clamp(times, restsUntil));
  const opening = clamp(times, now);
  if (opening > now) {
    const isOutside = clamp({ window: times.window }, now) > now;
    add(isOutside ? 'send_window' : 'recipient_quiet_hours', opening, opening);
  }
  if (opens && hour) {
    const until = hourlyNew === 0 ? morningAfter(times, hour, timezone) : clamp(times, hour);
    add('hourly_new_cap', hour, until);
  }
  return holds;
}

/** The longest hold on a message, of equals the first; null: none holds it. */
export const longest = (holds: readonly Hold[], scheduledAt: Date): Hold | null =>
  holds
    .filter(({ before }) => scheduledAt < before)
    .reduce<Hold | null>((a, b) => (a === null || b.until > a.until ? b : a), null);

/** Caches the last results, because lanes share few windows and calendar arithmetic is slow. */
const openings = new Map<string, { since: Date; opening: Date }>();
const mornings = new Map<string, Date>();
const MAX_REMEMBERED = 1000;

function remember<T>(known: Map<string, T>, key: string, value: T): T {
  if (known.size >= MAX_REMEMBERED) known.clear();
  known.set(key, value);
  return value;
}

const DAY_MS = 86_400_000;

/**
 * `firstSendTime` with a cache: what is closed stays closed until its opening. A message that may never be sent, because its
 * window and the quiet hours exclude each other, is looked at again every day: the settings may change.
 */
export function clamp(times: SendTimes, at: Date): Date {
  if (!times.window && !times.quiet) return at;
  const key = JSON.stringify([times.window, times.quiet]);
  const known = openings.get(key);
  if (known && known.since <= at && at < known.opening) return known.opening;
  const opening = firstSendTime(times, at) ?? new Date(at.getTime() + DAY_MS);
  if (opening > at) remember(openings, key, { since: at, opening });
  return opening;
}

/** The window's first start after a workspace midnight, or without one 09:00 of the next allowed day; later if recipients are asleep. */
export function morningAfter(times: SendTimes, midnight: Date, timezone: string): Date {
  const key = JSON.stringify([midnight.getTime(), timezone, times.window, times.quiet]);
  const { window } = times;
  return mornings.get(key) ?? remember(mornings, key, clamp(times, firstMorning(window, midnight, timezone)));
}

function firstMorning(window: SendWindow | undefined, midnight: Date, timezone: string): Date {
  const before = new Date(midnight.getTime() - 1);
  if (window?.start !== undefined) return nextOpening(window, before);
  const first = nextMorning(timezone, before);
  if (!window) return first;
  let morning = first;
  for (let days = 0; days < MORNINGS_TRIED; days += 1) {
    if (clampToWindow(window, morning).getTime() === morning.getTime()) return morning;
    morning = nextMorning(timezone, morning);
  }
  // It ends before 09:00.
  return nextOpening(window, before);
}

/** A window of one day a week is open at 09:00 of one of them, even if a clock change skips a week. */
const MORNINGS_TRIED = 15;
