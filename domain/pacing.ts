import { createHash } from 'node:crypto';
import { type Bounds, dayBounds, daysBetween, hourBounds, nextMorning } from './calendar.ts';
import { type Channel, isPhoneChannel } from './channel.ts';
import type { Circuit } from './circuit.ts';
import { clampToWindow, nextOpening, type SendWindow } from './send-window.ts';

/** The line ban protector: pure, the clock is passed in. */

/** Why a message or a line waits, in words for the operator. */
export const HOLD_REASONS = {
  idle: 'Nothing is waiting.',
  scheduled: 'Its scheduled time has not come, or it is next in turn.',
  subscription_past_due: 'The subscription is past due; messages keep their place until it is paid.',
  line_down: 'The line is down; its messages keep their place until it recovers.',
  carrier_pause: 'The carrier takes no messages at present; one is tried after a pause that grows.',
  line_paused: 'An operator has paused the line; its messages keep their place until it is resumed.',
  line_inactive: 'The line is not active; its messages keep their place.',
  line_gap: 'The line pauses between two sends.',
  contact_gap: 'The contact has just been sent another message.',
  send_window: 'Outside its send window; moved to the next opening.',
  hourly_new_cap: "The line's new conversations of this hour are used up; moved to the next hour.",
  daily_new_cap: "The line's new conversations of today are used up; moved to the next morning.",
  daily_total_cap: "The line's messages of today are used up; moved to the next morning.",
} as const;
export type HoldReason = keyof typeof HOLD_REASONS;

/** The limits of a line, as an operator sets them: counts per local day or hour, gaps in seconds. */
export interface LineLimits {
  dailyTotal: number;
  dailyNew: number;
  /** null: the channel's own, for a phone line drawn between 3 and 7 for each hour. */
  hourlyNew: number | null;
  minGapSeconds: number;
  contactGapSeconds: number;
}

export interface PacedLine extends LineLimits {
  id: string;
  channel: Channel;
  active: boolean;
  down: boolean;
  /** Whether an operator holds it; absent: nobody does. */
  paused?: boolean;
  /** Whether the workspace has not paid; absent: it has. */
  pastDue?: boolean;
  /** Whether its carrier takes messages; absent: it does. */
  circuit?: Circuit;
  /** The workspace's IANA zone: its days and hours are the ones counted. */
  timezone: string;
  /** null: no warm-up. */
  warmupStartedAt: Date | null;
}

/** What the line has sent in the local day and hour that `now` is in. */
export interface LineHistory {
  sentToday: number;
  newToday: number;
  newThisHour: number;
  lastSentAt: Date | null;
}

export interface QueuedMessage {
  id: string;
  address: string;
  scheduledAt: Date;
  /** The order of acceptance. */
  arrival: number;
  /** The line has never exchanged a message with the address. */
  isNew: boolean;
  /** The contact wrote within 24 hours: never a new conversation, and goes ahead. */
  isAnswer: boolean;
  contactLastSentAt: Date | null;
  window?: SendWindow;
  /** An operator wants it to leave now: it goes ahead of all others, and keeps no gap. */
  isUrgent?: boolean;
  /** Passed over: never sent and never moved; failing it is up to the caller. */
  optedOut?: boolean;
}

export interface Move {
  id: string;
  /** Always later than `now`. */
  to: Date;
  reason: HoldReason;
}

export interface Plan {
  send: string[];
  moves: Move[];
  /** When to plan again, as far as this queue tells; `at` null: not before something changes. */
  next: { at: Date | null; reason: HoldReason };
}

const PHONE_LIMITS: LineLimits = {
  dailyTotal: 150,
  dailyNew: 50,
  hourlyNew: null,
  minGapSeconds: 20,
  contactGapSeconds: 60,
};
export const DEFAULT_LIMITS: Record<Channel, LineLimits> = {
  imessage: PHONE_LIMITS,
  sms: PHONE_LIMITS,
  email: { dailyTotal: 500, dailyNew: 100, hourlyNew: 20, minGapSeconds: 20, contactGapSeconds: 60 },
};

const HOURLY_DRAW = { from: 3, to: 7 };
const WARM_UP = { firstDay: 20, perDay: 2 };
const GAP_JITTER = 0.5;
const DEFAULT_BATCH = 16;

/** New conversations a line may open in the local day of `now`; a warm-up grows by local calendar days. */
export function dailyNewCap(line: PacedLine, now: Date): number {
  if (!line.warmupStartedAt) return line.dailyNew;
  const days = Math.max(0, daysBetween(line.timezone, line.warmupStartedAt, now));
  return Math.min(line.dailyNew, WARM_UP.firstDay + WARM_UP.perDay * days);
}

/** New conversations a line may open in the local hour from `hourStart` on: the same on every call. */
export function hourlyNewCap(line: Pick<PacedLine, 'id' | 'channel' | 'hourlyNew'>, hourStart: Date): number {
  const fixed =
    line.hourlyNew ?? (isPhoneChannel(line.channel) ? null : DEFAULT_LIMITS[line.channel].hourlyNew);
  if (fixed !== null) return fixed;
  const { from, to } = HOURLY_DRAW;
  return from + Math.floor(draw(`${line.id} hour ${hourStart.toISOString()}`) * (to - from + 1));
}

/** The pause after the send at `lastSentAt`: `minGapSeconds` ± 50 %, in milliseconds, the same each time. */
export function lineGapMs(line: Pick<PacedLine, 'id' | 'minGapSeconds'>, lastSentAt: Date): number {
  const jitter = 1 + GAP_JITTER * (2 * draw(`${line.id} gap ${lastSentAt.toISOString()}`) - 1);
  return Math.round(line.minGapSeconds * 1000 * jitter);
}

/** The order of a line's queue: what an operator wants to leave now, answers, then by scheduled time, then by arrival. */
export function compareTurns(a: QueuedMessage, b: QueuedMessage): number {
  return (
    Number(b.isUrgent ?? false) - Number(a.isUrgent ?? false) ||
    Number(b.isAnswer) - Number(a.isAnswer) ||
    a.scheduledAt.getTime() - b.scheduledAt.getTime() ||
    a.arrival - b.arrival
  );
}

/**
 * What a line does at `now`: the messages to send at once, those that a rule holds back with the time they move
 * to, and when to plan again.
 *
 * A line with a gap sends one message per call, a line without up to `batch`. While the line itself waits (gap,
 * down, inactive, not paid for, its carrier not taking messages) nothing moves, so every message keeps its place. `queue` may be the first part of a longer queue
 * as long as nothing of it moves; else the call is made again with all that is due, so that equals move together.
 */
export function planLine(
  line: PacedLine,
  history: LineHistory,
  now: Date,
  queue: readonly QueuedMessage[],
  { batch }: { batch: number } = { batch: DEFAULT_BATCH },
): Plan {
  const waiting = queue.filter(({ optedOut }) => !optedOut).toSorted(compareTurns);
  const due = waiting.filter(({ scheduledAt }) => scheduledAt.getTime() <= now.getTime());
  const later = waiting.filter(({ scheduledAt }) => scheduledAt.getTime() > now.getTime());
  if (waiting.length > 0 && line.pastDue) return standstill('subscription_past_due');
  if (waiting.length > 0 && line.paused) return standstill('line_paused');
  if (waiting.length > 0 && !line.active) return standstill('line_inactive');
  if (waiting.length > 0 && line.down) return standstill('line_down');
  const circuit = line.circuit ?? { state: 'closed' };
  if (due.length > 0 && circuit.state === 'open') return standstill('carrier_pause', circuit.until);

  const gapEnd = endOfGap(line, history.lastSentAt);
  const send: string[] = [];
  const moves: Move[] = [];
  // What an operator wants to leave now keeps no gap.
  const turns = gapEnd === null || gapEnd <= now ? due : due.filter(({ isUrgent }) => isUrgent);
  if (turns.length > 0) {
    const room = line.minGapSeconds > 0 || circuit.state === 'trial' ? 1 : batch;
    const rules = rulesAt(line, history, now);
    // To the end of the queue: a message that a full hour left in place would overtake, once that hour is over,
    // its equals that were moved.
    for (const message of turns) {
      const move = rules.hold(message);
      if (move) {
        moves.push(move);
      } else if (send.length < room) {
        rules.count(message);
        send.push(message.id);
      }
    }
  }
  const pauseEnd = send.length > 0 ? endOfGap(line, now) : gapEnd;
  const left = due.length - send.length - moves.length;
  return { send, moves, next: soonest(now, pauseEnd, left, moves, later) };
}

const standstill = (reason: HoldReason, at: Date | null = null): Plan => ({
  send: [],
  moves: [],
  next: { at, reason },
});

/** When the line may send again after the send at `lastSentAt`; null: it has no gap, or has sent nothing. */
export function endOfGap(line: PacedLine, lastSentAt: Date | null): Date | null {
  if (lastSentAt === null || line.minGapSeconds === 0) return null;
  return new Date(lastSentAt.getTime() + lineGapMs(line, lastSentAt));
}

interface Rules {
  /** Where a message moves that a rule holds back now; null: it may go. */
  hold: (message: QueuedMessage) => Move | null;
  /** Counts a message as sent now for those asked about after it. */
  count: (message: QueuedMessage) => void;
}

function rulesAt(line: PacedLine, history: LineHistory, now: Date): Rules {
  const hour = hourBounds(line.timezone, now);
  const day = dayBounds(line.timezone, now);
  const caps = { total: line.dailyTotal, new: dailyNewCap(line, now), hour: hourlyNewCap(line, hour.start) };
  const used = { total: history.sentToday, new: history.newToday, hour: history.newThisHour };
  const sentNow = new Set<string>();
  const clamp = remember(clampToWindow);
  const morning = remember((window) => firstMorning(line, window, day));
  const opens = (message: QueuedMessage): boolean =>
    message.isNew && !message.isAnswer && !sentNow.has(message.address);

  return { hold, count };

  function hold(message: QueuedMessage): Move | null {
    const moved = (to: Date, reason: HoldReason): Move => ({
      id: message.id,
      to: clamp(message.window, to),
      reason,
    });
    if (clamp(message.window, now) > now) return moved(now, 'send_window');
    if (used.total >= caps.total) return moved(morning(message.window, now), 'daily_total_cap');
    if (opens(message)) {
      if (used.new >= caps.new) return moved(morning(message.window, now), 'daily_new_cap');
      // A cap of 0 frees nothing in the next hour either: once a day is enough to ask again.
      const free = caps.hour === 0 ? morning(message.window, now) : hour.end;
      if (used.hour >= caps.hour) return moved(free, 'hourly_new_cap');
    }
    if (message.isUrgent) return null;
    const lastSentAt = sentNow.has(message.address) ? now : message.contactLastSentAt;
    const contactFree = lastSentAt && new Date(lastSentAt.getTime() + line.contactGapSeconds * 1000);
    return contactFree && contactFree > now ? moved(contactFree, 'contact_gap') : null;
  }

  function count(message: QueuedMessage): void {
    used.total += 1;
    if (opens(message)) {
      used.new += 1;
      used.hour += 1;
    }
    sentNow.add(message.address);
  }
}

/** After a day's cap: the window's first start on a later workspace day, else 09:00 of the next allowed day. */
function firstMorning(line: PacedLine, window: SendWindow | undefined, today: Bounds): Date {
  if (window?.start !== undefined || window?.end !== undefined) {
    return nextOpening(window, new Date(today.end.getTime() - 1));
  }
  let morning = nextMorning(line.timezone, today.start);
  while (clampToWindow(window, morning) > morning) morning = nextMorning(line.timezone, morning);
  return morning;
}

function soonest(
  now: Date,
  pauseEnd: Date | null,
  left: number,
  moves: Move[],
  later: QueuedMessage[],
): Plan['next'] {
  const turns: { at: Date; reason: HoldReason }[] = moves.map(({ to, reason }) => ({ at: to, reason }));
  if (left > 0) turns.push({ at: now, reason: 'scheduled' });
  for (const { scheduledAt } of later) turns.push({ at: scheduledAt, reason: 'scheduled' });
  if (turns.length === 0) return { at: null, reason: 'idle' };
  const first = turns.reduce((a, b) => (b.at < a.at ? b : a));
  return pauseEnd && pauseEnd > first.at ? { at: pauseEnd, reason: 'line_gap' } : first;
}

/** Many queued messages share a handful of windows and times, and calendar sums are the costly part. */
function remember(compute: (window: SendWindow | undefined, at: Date) => Date): typeof compute {
  const known = new Map<string, Date>();
  return (window, at) => {
    const key = window ? `${at.getTime()} ${JSON.stringify(window)}` : String(at.getTime());
    const found = known.get(key) ?? compute(window, at);
    known.set(key, found);
    return found;
  };
}

/** A number from 0 up to but not including 1 that depends on nothing but `name`. */
function draw(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32;
}
