import {
  DEFAULT_LIMITS,
  dailyNewCap,
  hourlyNewCap,
  type LimitedLine,
} from '../../../../domain/sending/line-limits.ts';
import { type DaySignals, NO_SIGNALS, signalDay } from '../../../../domain/lines/line-signals.ts';
import {
  effectsOf,
  judge,
  JUDGED_DAYS,
  type ReputationPolicy,
  type ReputationState,
} from '../../../../domain/lines/reputation.ts';
import { type Lead, STEPS } from './leads.ts';
import type { BanRule, CarrierDay } from './rules.ts';

/** What became of a line, and of those that replaced it, over the simulated days. */
export interface LineOutcome {
  bans: { day: number; rule: BanRule['name'] }[];
  replies: number;
  /** Leads that got their first message. */
  reached: number;
  /** The average time that these waited for it, in days. */
  waitDays: number;
  /** Days in each state. */
  states: Partial<Record<ReputationState, number>>;
}

const BEGIN = Date.parse('2026-01-05T00:00:00Z');
const HOUR_MS = 3_600_000;
/** Messages are sent in these hours of the day. */
const OPEN = { from: 8, to: 20 };
/** Hours between two messages to a contact who does not answer. */
const FOLLOW_UP_HOURS = 60;

interface Event {
  at: number;
  lead: Lead;
  kind: 'follow-up' | 'answer';
  step: number;
  /** The day on which the conversation was opened. */
  opened: DaySignals;
}

/**
 * Sends the leads hour by hour: with the product's own caps, judgement and effects, and the carrier's hidden rules at the end
 * of each day. Gaps do not matter at these numbers. Nobody stops a campaign that goes badly.
 * @param options.replacedAfter days until a banned line is replaced by a new one, which warms up; Infinity: never.
 */
export function runLine(
  id: string,
  leads: readonly Lead[],
  rules: readonly BanRule[],
  policy: ReputationPolicy,
  { days, replacedAfter }: { days: number; replacedAfter: number },
): LineOutcome {
  const outcome: LineOutcome = { bans: [], replies: 0, reached: 0, waitDays: 0, states: {} };
  const waiting = [...leads].toSorted((a, b) => a.readyAt - b.readyAt);
  let number = 0;
  let line = newLine(id, BEGIN);
  let bannedUntil = -1;
  let signals: DaySignals[] = [];
  let carrier: CarrierDay[] = [];
  let events: Event[] = [];
  let next = 0;

  for (let day = 0; day < days; day += 1) {
    if (day < bannedUntil) continue;
    if (day === bannedUntil) {
      line = newLine(`${id} ${(number += 1)}`, BEGIN + day * 24 * HOUR_MS);
      [signals, carrier, events] = [[], [], []];
    }
    const today: DaySignals = { ...NO_SIGNALS, day: signalDay(new Date(BEGIN + day * 24 * HOUR_MS)) };
    const seen: CarrierDay = { opened: 0, answered: 0, optouts: 0, reports: 0 };
    signals.push(today);
    carrier.push(seen);
    let state: ReputationState = 'new';
    for (let hour = 0; hour < 24; hour += 1) {
      const at = day * 24 + hour;
      const now = new Date(BEGIN + at * HOUR_MS);
      const due = events.filter((event) => event.at <= at);
      events = events.filter((event) => event.at > at);
      for (const { kind, step, opened } of due) if (kind === 'answer') answer(step, opened);
      if (hour < OPEN.from || hour >= OPEN.to) {
        events.push(
          ...due.filter(({ kind }) => kind === 'follow-up').map((event) => ({ ...event, at: at + 1 })),
        );
        continue;
      }
      ({ state } = judge('imessage', signals.slice(-JUDGED_DAYS), now));
      const effects = effectsOf({ state, policy, overriddenUntil: null }, now);
      const paced: LimitedLine = { ...line, newFactor: effects.newConversationsFactor };
      for (const event of due.filter(({ kind }) => kind === 'follow-up')) {
        if (today.sent < line.dailyTotal) write(event.lead, event.step, at, event.opened);
        else events.push({ ...event, at: at + 24 - hour + OPEN.from });
      }
      let room = effects.newConversationsStopped ? 0 : hourlyNewCap(paced, now);
      while (
        room > 0 &&
        today.opened < dailyNewCap(paced, now) &&
        today.sent < line.dailyTotal &&
        next < waiting.length &&
        waiting[next]!.readyAt <= at
      ) {
        const lead = waiting[next]!;
        next += 1;
        room -= 1;
        outcome.reached += 1;
        outcome.waitDays += (at - lead.readyAt) / 24;
        write(lead, 0, at, today);
      }
    }
    outcome.states[state] = (outcome.states[state] ?? 0) + 1;
    const rule = rules.find(({ bans }) => bans(carrier));
    if (rule) {
      outcome.bans.push({ day, rule: rule.name });
      bannedUntil = day + replacedAfter;
    }

    function write(lead: Lead, step: number, at: number, opened: DaySignals): void {
      today.sent += 1;
      if (step === 0) {
        today.opened += 1;
        today.approached += 1;
        seen.opened += 1;
        if (lead.hasLink) today.linked += 1;
        if (lead.reports) seen.reports += 1;
        if (lead.complains) today.complained += 1;
      }
      if (step === 2) today.silent += 1;
      if (lead.unreachable) today.undelivered += 1;
      if (lead.optsOut === step) {
        today.optouts += 1;
        today.received += 1;
        seen.optouts += 1;
      } else if (lead.answers?.step === step)
        events.push({ at: at + lead.answers.afterHours, lead, kind: 'answer', step, opened });
      else if (step + 1 < STEPS && !lead.complains && !lead.unreachable)
        events.push({ at: at + FOLLOW_UP_HOURS, lead, kind: 'follow-up', step: step + 1, opened });
    }

    /** The contact answers, and is answered. */
    function answer(step: number, opened: DaySignals): void {
      outcome.replies += 1;
      today.received += 1;
      seen.answered += 1;
      today.sent += 1;
      today.approached += 1;
      if (step === 2) today.revived += 1;
      opened.answered += 1;
    }
  }
  if (outcome.reached > 0) outcome.waitDays /= outcome.reached;
  return outcome;
}

const newLine = (id: string, startedAt: number): LimitedLine => ({
  id,
  channel: 'imessage',
  timezone: 'UTC',
  ...DEFAULT_LIMITS.imessage,
  warmupStartedAt: new Date(startedAt),
});
