import { wallClock } from '../base/calendar.ts';
import {
  firstSendTime,
  type QuietPolicy,
  type Recipient,
  type SendTimes,
  type WakingHours,
  wakingHours,
} from './quiet-hours.ts';
import type { SendWindow } from './send-window.ts';

/** Messages that were sent to recipients in the same place, under the same rules. */
export interface SentMessages {
  recipient: Recipient;
  window?: SendWindow;
  /** Sent to contacts who had written within 24 hours. */
  areAnswers: boolean;
  /** When they were sent, in ascending order. */
  at: readonly Date[];
}

/** How many messages there were, and how many of them quiet hours would have held. */
export interface Held {
  messages: number;
  held: number;
  /** The longest time that one of them would have waited; null: none would have. */
  longestHoldMinutes: number | null;
}

export interface QuietHoursPreview extends Held {
  /** Held messages by what closes first: the hours themselves, or within them the law of a state. */
  byReason: { hours: number; law: number };
  /** Held messages whose window and quiet hours never allow a time. */
  neverSent: number;
  byDay: (Held & { date: string })[];
  /** The places in which messages would have been held, the most frequent first. */
  byPlace: (Held & { zones: readonly string[]; region: string | null })[];
}

const MINUTE_MS = 60_000;
const none = (): Held => ({ messages: 0, held: 0, longestHoldMinutes: null });

/**
 * The effect that quiet hours would have had on sent messages, by the pacing rules. Yields after each message, so that
 * other work gets a turn.
 * @param timezone of the workspace: of its days, and of recipients who may be anywhere.
 */
export function* previewQuietHours(
  sent: readonly SentMessages[],
  policy: QuietPolicy,
  timezone: string,
): Generator<void, QuietHoursPreview> {
  const all = none();
  const byReason = { hours: 0, law: 0 };
  let neverSent = 0;
  const days = new Map<string, Held>();
  const places = new Map<string, Held & { zones: readonly string[]; region: string | null }>();

  for (const { recipient, window, areAnswers, at } of sent) {
    const quiet = areAnswers ? undefined : wakingHours(policy, recipient, timezone);
    const zones = recipient.zones ?? [timezone];
    const { region } = recipient;
    const key = JSON.stringify([zones, region]);
    const place = places.get(key) ?? { zones, region, ...none() };
    places.set(key, place);
    const holdOn = quiet && holds(quiet, window);
    for (const time of at) {
      const date = wallClock(timezone, time).toISOString().slice(0, 10);
      const day = days.get(date) ?? none();
      days.set(date, day);
      const hold = holdOn?.(time);
      for (const total of [all, day, place]) add(total, hold?.minutes);
      if (hold) {
        byReason[hold.reason] += 1;
        if (hold.minutes === null) neverSent += 1;
      }
      yield;
    }
  }
  return {
    ...all,
    byReason,
    neverSent,
    byDay: [...days]
      .map(([date, held]) => ({ date, ...held }))
      .toSorted((a, b) => (a.date < b.date ? -1 : 1)),
    byPlace: [...places.values()].filter(({ held }) => held > 0).toSorted((a, b) => b.held - a.held),
  };
}

/** @param minutes how long the message would have waited; null: forever; undefined: not at all. */
function add(total: Held, minutes: number | null | undefined): void {
  total.messages += 1;
  if (minutes === undefined) return;
  total.held += 1;
  if (minutes !== null) total.longestHoldMinutes = Math.max(total.longestHoldMinutes ?? 0, minutes);
}

interface Hold {
  reason: 'hours' | 'law';
  minutes: number | null;
}

/** Returns what holds a message at a time; the times must be in ascending order. */
function holds(quiet: WakingHours, window: SendWindow | undefined): (at: Date) => Hold | undefined {
  const awake = openings({ quiet });
  const open = openings({ quiet: { ...quiet, law: null } });
  const sendable = window ? openings({ quiet, window }) : awake;
  return (at) => {
    if (awake(at)?.getTime() === at.getTime()) return undefined;
    const reason = quiet.law !== null && open(at)?.getTime() === at.getTime() ? 'law' : 'hours';
    const until = sendable(at);
    return { reason, minutes: until && Math.ceil((until.getTime() - at.getTime()) / MINUTE_MS) };
  };
}

/** `firstSendTime` for times in ascending order: what is closed stays closed until its opening. */
function openings(times: SendTimes): (at: Date) => Date | null {
  let next: Date | null = null;
  return (at) => {
    if (next === null || next <= at) next = firstSendTime(times, at);
    return next;
  };
}
