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
import { clampToWindow, nextOpening, type SendWindow } from './send-window.ts';

/**
 * The pacing rules, which keep lines from being flagged or banned. Pure functions that take the time as a parameter. Messages that a cap or
 * window holds keep their place in the queue without a write; what callers see (`shownWait`) follows from the same rules.
 */

/** Why a message or a line waits, in words for operators. */
export const HOLD_REASONS = {
  idle: 'Nothing is waiting.',
  scheduled: 'Its scheduled time has not come.',
  next_in_turn: 'It is due and next in turn.',
  workspace_suspended:
    'An operator has suspended the workspace; its messages keep their place until it is resumed.',
  subscription_past_due:
    'The subscription is past due or canceled; messages keep their place until there is a paid one.',
  line_not_connected: 'The line is not connected to a carrier; its messages keep their place until it is.',
  line_down: 'The line is down; its messages keep their place until it recovers.',
  carrier_pause: 'The carrier currently accepts no messages; one is tried after a growing pause.',
  line_paused: 'The line is paused; its messages keep their place until it is resumed.',
  line_inactive: 'The line is not active; its messages keep their place.',
  line_gap: 'The line pauses between two sends.',
  contact_gap: 'The contact has just been sent another message.',
  send_window: 'Outside its send window; moved to the next opening.',
  recipient_quiet_hours: 'The recipient is asleep by the quiet hours; moved to the end of these.',
  hourly_new_cap: "The line's new conversations of this hour are used up; moved to the next hour.",
  daily_new_cap: "The line's new conversations of today are used up; moved to the next morning.",
  line_resting:
    'The reputation of the line is critical: it opens no new conversations until it has recovered.',
  daily_total_cap: "The line's messages of today are used up; moved to the next morning.",
} as const;
export type HoldReason = keyof typeof HOLD_REASONS;

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
  active: boolean;
  down: boolean;
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
  /** Until then it starts, or started, no conversations, because its reputation was critical. Answers continue. */
  restsUntil?: Date | null;
  /** Absent: the workspace and its campaigns have no quiet hours. */
  quiet?: QuietPolicy;
  usedUp: UsedUp;
}

/** The line's sends of the current local day and hour. */
export interface LineHistory {
  sentToday: number;
  newToday: number;
  newThisHour: number;
  lastSentAt: Date | null;
}

/** The history after messages are sent now. */
export const afterSends = (history: LineHistory, sends: readonly { isNew: boolean }[]): LineHistory => {
  const opened = sends.filter(({ isNew }) => isNew).length;
  return {
    ...history,
    sentToday: history.sentToday + sends.length,
    newToday: history.newToday + opened,
    newThisHour: history.newThisHour + opened,
  };
};

/** Messages of a line that the rules treat alike, except for the gaps of their contacts. */
export interface Lane {
  key: string;
  /** To addresses with which the line has never exchanged a message. */
  isNew: boolean;
  window?: SendWindow;
  recipient?: Recipient;
  /** The scheduled time of the first message. */
  firstAt: Date;
  /** The scheduled time of the first message that is not due; null: all are due. */
  laterAt: Date | null;
}

/** A lane whose messages may be sent now, if scheduled at `since` or later. */
export interface OpenLane extends Pick<Lane, 'key' | 'isNew'> {
  since: Date;
  /** Its recipients have quiet hours, except for those who wrote within 24 hours. */
  answersOnly?: boolean;
}

export interface QueuedMessage {
  id: string;
  address: string;
  scheduledAt: Date;
  /** The order of acceptance. */
  arrival: number;
  /** The line has never exchanged a message with the address. */
  isNew: boolean;
  /** The contact wrote within 24 hours: not a new conversation, and sent before others. */
  isAnswer: boolean;
  contactLastSentAt: Date | null;
  window?: SendWindow;
  recipient?: Recipient;
  /** An operator sends it now: before all others and regardless of gaps. */
  isUrgent?: boolean;
  /** Skipped: neither sent nor moved. The caller fails it. */
  optedOut?: boolean;
  /** Like `optedOut`: the agency sends nothing to the address. */
  suppressed?: boolean;
  /** Skipped: it waits for the decision whether the contact has opted out. The caller takes it from the queue. */
  suspected?: boolean;
}

/** When to look again; `at` null: not until something changes. */
export interface NextLook {
  at: Date | null;
  reason: HoldReason;
}

const BEGINNING = new Date(0);

/** The order of a line's queue: messages to send now, answers, then by scheduled time, then by arrival. */
function compareTurns(a: QueuedMessage, b: QueuedMessage): number {
  return (
    Number(b.isUrgent ?? false) - Number(a.isUrgent ?? false) ||
    Number(b.isAnswer) - Number(a.isAnswer) ||
    a.scheduledAt.getTime() - b.scheduledAt.getTime() ||
    a.arrival - b.arrival
  );
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

/**
 * The lanes of a line's queue with messages that may be sent now, except for contact gaps, and when to look again if none
 * is sent. While the line itself waits (gap, down, paused, inactive, past due, carrier failing), no lane is open.
 */
export function planQueue(
  line: PacedLine,
  history: Pick<LineHistory, 'lastSentAt'>,
  lanes: readonly Lane[],
  now: Date,
): { open: OpenLane[]; next: NextLook } {
  const isDue = lanes.some(({ firstAt }) => firstAt <= now);
  const standstill = isDue ? standstillOf(line, now) : null;
  if (standstill) return { open: [], next: standstill };

  const open: OpenLane[] = [];
  const looks: NextLook[] = [];
  for (const { key, isNew, window, recipient, firstAt, laterAt } of lanes) {
    if (firstAt <= now) {
      const rules = { ...(window && { window }), ...(recipient && { recipient }) };
      const all = activeHolds(line, { ...rules, opens: isNew }, now);
      const ends = looksAfter(all, firstAt, now);
      looks.push(...(ends.length > 0 ? ends : [{ at: now, reason: 'next_in_turn' } as const]));
      const since = sinceOf(all);
      if (since <= now) open.push({ key, isNew, since });
      // Answers, which are in the lanes of known contacts, are sent to contacts who are asleep, and may be held for less long.
      if (line.quiet && recipient && !isNew) {
        const onAnswers = activeHolds(line, { ...(window && { window }), opens: false }, now);
        const answersSince = sinceOf(onAnswers);
        if (now < since && answersSince <= now)
          open.push({ key, isNew, since: answersSince, answersOnly: true });
        looks.push(...looksAfter(onAnswers, firstAt, now));
      }
    }
    // Messages that fall due while their cap is used up are held as well.
    if (laterAt) looks.push({ at: latest([laterAt, ...capsOf(line, isNew)]), reason: 'scheduled' });
  }
  const next = looks.reduce<NextLook>((a, b) => (a.at && b.at && a.at <= b.at ? a : b), {
    at: null,
    reason: 'idle',
  });
  const gapEnd = endOfGap(line, history.lastSentAt);
  if (gapEnd === null || gapEnd <= now) return { open, next };
  const waits = open.length > 0 || (next.at !== null && next.at < gapEnd);
  return { open: [], next: waits ? { at: gapEnd, reason: 'line_gap' } : next };
}

const activeHolds = (line: PacedLine, rules: Rules & { opens: boolean }, now: Date): Hold[] =>
  holdsOn(line, rules, now).filter(({ until }) => until > now);

/** Messages that were scheduled at this time or later are not held. */
const sinceOf = (holds: readonly Hold[]): Date => latest([BEGINNING, ...holds.map(({ before }) => before)]);

/** When the holds on due messages of a lane end. Messages that were due later than the first are held by fewer of them. */
function looksAfter(holds: readonly Hold[], firstAt: Date, now: Date): NextLook[] {
  const ends = holds.map(({ before }) => before).filter((before) => firstAt < before && before <= now);
  return [firstAt, ...ends].flatMap((dueAt) => {
    const hold = longest(holds, dueAt);
    return hold ? [{ at: hold.until, reason: hold.reason }] : [];
  });
}

export interface Choice {
  /** The messages to send now. */
  send: string[];
  /** Contacts who are sent a message now, and until when their other due messages wait. */
  resting: Map<string, Date>;
  /** Messages held by a cap or window: those to send now, or found in the wrong lane. */
  held: string[];
}

/**
 * Chooses the messages of open lanes to send now. A line with a gap sends one, a line without a gap up to `batch`, one to each
 * contact. Each send counts for the next choice.
 */
export function chooseSends(
  line: PacedLine,
  history: LineHistory,
  found: readonly QueuedMessage[],
  now: Date,
  { batch }: { batch: number },
): Choice {
  const room = line.minGapSeconds > 0 || line.circuit?.state === 'trial' ? 1 : batch;
  const choice: Choice = { send: [], resting: new Map(), held: [] };
  const count = { ...history };
  const written = new Set<string>();
  let { usedUp } = line;
  for (const message of found
    .filter(({ optedOut, suppressed, suspected }) => !optedOut && !suppressed && !suspected)
    .toSorted(compareTurns)) {
    if (choice.send.length === room) break;
    const { id, address, scheduledAt } = message;
    const opens = message.isNew && !message.isAnswer && !written.has(address);
    const holds = holdsOn({ ...line, usedUp }, { ...rulesOf(message), opens }, now);
    if (holds.some(({ before, until }) => scheduledAt < before && until > now)) {
      choice.held.push(id);
      continue;
    }
    const rested = endOfRest(line, written.has(address) ? now : message.contactLastSentAt);
    if (rested > now && !message.isUrgent) {
      choice.resting.set(address, rested);
      continue;
    }
    // What is sent together may arrive in any order.
    if (written.has(address)) continue;
    choice.send.push(id);
    written.add(address);
    count.sentToday += 1;
    if (opens) {
      count.newToday += 1;
      count.newThisHour += 1;
    }
    usedUp = usedUpAt(line, count, now);
  }
  return choice;
}

/** The fields of a waiting message that determine how long it waits. */
export type WaitingMessage = Pick<
  QueuedMessage,
  'scheduledAt' | 'isNew' | 'isAnswer' | 'window' | 'recipient'
>;

/** The rules of the message itself. Quiet hours do not apply to a contact who has just written. */
const rulesOf = ({
  window,
  recipient,
  isAnswer,
}: Pick<WaitingMessage, 'window' | 'recipient' | 'isAnswer'>) => ({
  ...(window && { window }),
  ...(recipient && !isAnswer && { recipient }),
});

/** What callers see of a waiting message. */
export interface ShownWait {
  scheduledAt: Date;
  /** undefined: the message is due later, and neither its line nor quiet hours hold it; the reason stored with its
   * scheduled time applies. */
  holdReason: HoldReason | null | undefined;
  /** The cap or window that postponed it, and until when; null: none that the line remembers. */
  moved: { to: Date; reason: HoldReason } | null;
}

/**
 * The earliest send time of a waiting message and its hold reason, as callers see them. A message held by a cap or window
 * shows the time at which the plan looks at it again.
 */
export function shownWait(
  line: PacedLine,
  { lastSentAt }: Pick<LineHistory, 'lastSentAt'>,
  message: WaitingMessage,
  now: Date,
): ShownWait {
  const { scheduledAt } = message;
  if (scheduledAt > now) {
    const times = timesOf(line, rulesOf(message));
    const opening = clamp(times, scheduledAt);
    const isAsleep = opening > scheduledAt && clamp({ window: times.window }, scheduledAt) <= scheduledAt;
    const holdReason = stoppedBy(line) ?? (isAsleep ? 'recipient_quiet_hours' : undefined);
    return { scheduledAt: opening, holdReason, moved: null };
  }
  const standstill = standstillOf(line, now);
  if (standstill) return { scheduledAt, holdReason: standstill.reason, moved: null };

  const moved = movedBy(line, message, now);
  const shown = moved ? moved.to : scheduledAt;
  if (moved && moved.to > now) return { scheduledAt: shown, holdReason: moved.reason, moved };
  const gapEnd = endOfGap(line, lastSentAt);
  const holdReason = gapEnd !== null && gapEnd > now ? 'line_gap' : null;
  // Of those that are due, one is tried.
  if (line.circuit?.state === 'trial') return { scheduledAt: shown, holdReason: 'carrier_pause', moved };
  return { scheduledAt: shown, holdReason, moved };
}

/** The cap or window that holds a due message, else the cap that held it last, if the line remembers one. */
function movedBy(line: PacedLine, message: WaitingMessage, now: Date): ShownWait['moved'] {
  const opens = message.isNew && !message.isAnswer;
  const hold = longest(holdsOn(line, { ...rulesOf(message), opens }, now), message.scheduledAt);
  return hold && { to: hold.until, reason: hold.reason };
}

/**
 * What delayed a message that is sent now, for its timeline; null: nothing did. A line remembers its caps and its rest; which window or
 * quiet hours held the message follows from the time at which it was due.
 */
export function delayedBy(
  line: PacedLine,
  message: WaitingMessage & { dueAt: Date },
  now: Date,
): ShownWait['moved'] {
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

/** When the quiet hours of an unpaced message's recipient end; null: there are none now. */
export function quietUntil(
  line: PacedLine,
  message: Pick<WaitingMessage, 'window' | 'recipient' | 'isAnswer'>,
  now: Date,
): Date | null {
  const { quiet } = timesOf(line, rulesOf(message));
  const opening = clamp({ quiet }, now);
  return opening > now ? clamp(timesOf(line, rulesOf(message)), now) : null;
}

/** Why a workspace sends nothing on any line, and no SMS; null if it may send. */
export function workspaceStop({
  suspended,
  pastDue,
}: Pick<PacedLine, 'suspended' | 'pastDue'>): 'workspace_suspended' | 'subscription_past_due' | null {
  if (suspended) return 'workspace_suspended';
  return pastDue ? 'subscription_past_due' : null;
}

/** Whether a line may send at all, except for its gap. */
export const canSend = (line: PacedLine, now: Date): boolean => standstillOf(line, now) === null;

/** Why the line sends nothing until something other than time changes that; null if it sends, or will after a pause. */
export function stopOf(line: PacedLine, now: Date): HoldReason | null {
  const standstill = standstillOf(line, now);
  return standstill?.at === null ? standstill.reason : null;
}

/** Why the line sends nothing until somebody changes that, which also holds messages for later; null if it may send. */
function stoppedBy({ unconnected, paused, active, ...workspace }: PacedLine): HoldReason | null {
  const stop = workspaceStop(workspace);
  if (stop) return stop;
  if (unconnected) return 'line_not_connected';
  if (paused) return 'line_paused';
  return active ? null : 'line_inactive';
}

/** The first reason why the line sends nothing at all; null if there is none. */
function standstillOf(line: PacedLine, now: Date): NextLook | null {
  const { down, circuit } = line;
  const stopped = stoppedBy(line);
  if (stopped) return { at: null, reason: stopped };
  if (down) return { at: null, reason: 'line_down' };
  if (circuit?.state === 'open' && circuit.until > now) return { at: circuit.until, reason: 'carrier_pause' };
  return null;
}

/**
 * Why the line sends nothing at all, or opens no conversations, for the records of holds. The pauses of a carrier that accepts nothing
 * count as one, including the attempts in between.
 */
export function reasonToRecord(line: PacedLine, now: Date): HoldReason | null {
  const standstill = standstillOf(line, now);
  if (standstill) return standstill.reason;
  if (line.circuit?.state === 'trial') return 'carrier_pause';
  return line.restsUntil && line.restsUntil > now ? 'line_resting' : null;
}

/** Until when no message of a line is sent, and none to a new contact; null: they are not held. */
export interface LineHolds {
  all: NextLook | null;
  newContacts: NextLook | null;
}

/**
 * The holds that do not depend on a message's window. A message that is due before the end of one is not sent before, except
 * by an operator's order. Afterwards it may still be held until the morning, which only another plan tells.
 */
export function holdsOf(
  line: PacedLine,
  { lastSentAt }: Pick<LineHistory, 'lastSentAt'>,
  now: Date,
): LineHolds {
  const { usedUp } = line;
  const standstill = standstillOf(line, now);
  if (standstill?.at === null) return { all: standstill, newContacts: null };
  const last = (...holds: NextLook[]): NextLook | null =>
    holds.reduce<NextLook | null>((a, b) => ((b.at ?? now) > (a?.at ?? now) ? b : a), null);
  return {
    all: last(
      ...(standstill ? [standstill] : []),
      { at: usedUp.dailyTotal, reason: 'daily_total_cap' },
      { at: endOfGap(line, lastSentAt), reason: 'line_gap' },
    ),
    newContacts: last(
      { at: usedUp.dailyNew, reason: 'daily_new_cap' },
      { at: usedUp.hourlyNew, reason: 'hourly_new_cap' },
      { at: line.restsUntil ?? null, reason: 'line_resting' },
    ),
  };
}

/** When the gap after the send at `lastSentAt` ends; null: the line has no gap, or has sent nothing. */
export function endOfGap(line: PacedLine, lastSentAt: Date | null): Date | null {
  if (lastSentAt === null || line.minGapSeconds === 0) return null;
  return new Date(lastSentAt.getTime() + lineGapMs(line, lastSentAt));
}

const endOfRest = (line: PacedLine, lastSentAt: Date | null): Date =>
  lastSentAt ? new Date(lastSentAt.getTime() + line.contactGapSeconds * 1000) : BEGINNING;

/** The ends of the hours and days in which a cap on these messages was used up, and of the line's rest. */
const capsOf = ({ usedUp, restsUntil = null }: PacedLine, opens: boolean): Date[] =>
  [usedUp.dailyTotal, ...(opens ? [usedUp.dailyNew, usedUp.hourlyNew, restsUntil] : [])].filter(
    (end) => end !== null,
  );

/** Holds the messages that were scheduled before `before`, until `until`. */
interface Hold {
  reason: HoldReason;
  before: Date;
  until: Date;
}

/** The data from which a message's rules are derived. */
type Rules = Pick<WaitingMessage, 'window' | 'recipient'>;

const timesOf = ({ quiet, timezone }: PacedLine, { window, recipient }: Rules): SendTimes => ({
  window,
  quiet: quiet && recipient && wakingHours(quiet, recipient, timezone),
});

/** The holds on new or known contacts' messages with these rules. Holds of caps may be over. */
function holdsOn(line: PacedLine, { opens, ...rules }: Rules & { opens: boolean }, now: Date): Hold[] {
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
const longest = (holds: readonly Hold[], scheduledAt: Date): Hold | null =>
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
function clamp(times: SendTimes, at: Date): Date {
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

const latest = (dates: readonly [Date, ...Date[]]): Date => dates.reduce((a, b) => (b > a ? b : a));
