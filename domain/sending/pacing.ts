import {
  capsOf,
  endOfGap,
  type Hold,
  holdsOn,
  type LineHistory,
  longest,
  type PacedLine,
  type PacedMessage,
  type Rules,
  rulesOf,
  usedUpAt,
} from './holds.ts';
import type { PersonHold } from './person-holds.ts';
import type { Recipient } from './quiet-hours.ts';
import type { SendWindow } from './send-window.ts';
import { briefOf, type LineReason } from './wait-reasons.ts';
import { whyLineWaits } from './why-it-waits.ts';

/** What a line sends now, and when it looks again: pure functions that take the time as a parameter. */

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

export interface QueuedMessage extends PacedMessage {
  id: string;
  address: string;
  /** The order of acceptance. */
  arrival: number;
  contactLastSentAt: Date | null;
  /** An operator sends it now: before all others and regardless of gaps. */
  isUrgent?: boolean;
  /** Skipped: neither sent nor moved. The caller fails it. */
  optedOut?: boolean;
  /** Like `optedOut`: the agency sends nothing to the address. */
  suppressed?: boolean;
  /** The lead that it reaches. */
  leadId?: string | null;
  /** It is of a campaign. */
  isStep?: boolean;
  /** What holds it because of its person; an operator's order does not wait for that. */
  personHold?: PersonHold | null;
  /** Skipped: it waits for the decision whether the contact has opted out. The caller takes it from the queue. */
  suspected?: boolean;
  /** How often it was tried in vain. */
  tries?: number;
}

/** When to look again, and why not before; `at` null: not until something changes. */
export interface NextLook {
  at: Date | null;
  reason: LineReason | 'idle' | 'next_in_turn';
}

/** The reason in words for operators. */
export function lookText(reason: NextLook['reason']): string {
  if (reason === 'idle') return 'Nothing is waiting.';
  return reason === 'next_in_turn' ? 'A message is due and next in turn.' : briefOf(reason);
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
 * Whether a line sends again is tried with what was tried least, because its carrier may refuse one message or recipient and no other.
 * What waits for a contact keeps its order.
 */
function inOrderOfTrials(queue: readonly QueuedMessage[]): QueuedMessage[] {
  const ofContacts = Map.groupBy(queue.toSorted(compareTurns), ({ address }) => address);
  return [...ofContacts.values()]
    .flatMap(([first]) => first ?? [])
    .toSorted(
      (a, b) =>
        Number(b.isUrgent ?? false) - Number(a.isUrgent ?? false) ||
        (a.tries ?? 0) - (b.tries ?? 0) ||
        compareTurns(a, b),
    );
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
  const wait = isDue ? whyLineWaits(line, now) : null;
  if (wait) return { open: [], next: { at: wait.until, reason: wait.reason } };

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
  contactGaps: Map<string, Date>;
  /** Messages of campaigns that wait because of their persons. */
  held: Map<string, PersonHold>;
  /** Messages held by a cap or window: those to send now, or found in the wrong lane. */
  misplaced: string[];
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
  const isTrial = line.circuit?.state === 'trial';
  const room = line.minGapSeconds > 0 || isTrial ? 1 : batch;
  const choice: Choice = { send: [], contactGaps: new Map(), held: new Map(), misplaced: [] };
  const count = { ...history };
  const written = new Set<string>();
  /** The leads to which campaigns write now. */
  const approached = new Set<string>();
  let { usedUp } = line;
  const sendable = found.filter(
    ({ optedOut, suppressed, suspected }) => !optedOut && !suppressed && !suspected,
  );
  for (const message of isTrial ? inOrderOfTrials(sendable) : sendable.toSorted(compareTurns)) {
    if (choice.send.length === room) break;
    const { id, address, scheduledAt, leadId = null, isStep = false, personHold = null } = message;
    const opens = message.isNew && !message.isAnswer && !written.has(address);
    const holds = holdsOn({ ...line, usedUp }, { ...rulesOf(message), opens }, now);
    if (holds.some(({ before, until }) => scheduledAt < before && until > now)) {
      choice.misplaced.push(id);
      continue;
    }
    if (personHold && !message.isUrgent) {
      choice.held.set(id, personHold);
      continue;
    }
    const gapEnd = endOfContactGap(line, written.has(address) ? now : message.contactLastSentAt);
    if (gapEnd > now && !message.isUrgent) {
      choice.contactGaps.set(address, gapEnd);
      continue;
    }
    // What is sent together may arrive in any order.
    if (written.has(address)) continue;
    // The cap on what a person gets counts this one first.
    if (isStep && leadId !== null && approached.has(leadId)) continue;
    if (isStep && leadId !== null) approached.add(leadId);
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

/** Until when no message of a line is sent, and none to a new contact; null: they are not held. */
export interface LineHolds {
  all: LineHold | null;
  newContacts: LineHold | null;
}

interface LineHold extends NextLook {
  reason: LineReason;
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
  const wait = whyLineWaits(line, now);
  const standstill = wait && { at: wait.until, reason: wait.reason };
  if (standstill?.at === null) return { all: standstill, newContacts: null };
  const last = (...holds: LineHold[]): LineHold | null =>
    holds.reduce<LineHold | null>((a, b) => ((b.at ?? now) > (a?.at ?? now) ? b : a), null);
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

const endOfContactGap = (line: PacedLine, lastSentAt: Date | null): Date =>
  lastSentAt ? new Date(lastSentAt.getTime() + line.contactGapSeconds * 1000) : BEGINNING;

const latest = (dates: readonly [Date, ...Date[]]): Date => dates.reduce((a, b) => (b > a ? b : a));
