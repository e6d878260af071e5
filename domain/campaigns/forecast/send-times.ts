import { morningAfter } from '#domain/sending/holds.ts';
import type { LineReason } from '#domain/sending/wait-reasons.ts';
import { firstSendTime, type SendTimes as Rules } from '#domain/sending/quiet-hours.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** More than the hours of three years. */
const MAX_REMEMBERED = 30_000;

/** When messages may be sent, in milliseconds: within their window, and outside the recipients' quiet hours. */
export interface SendTimes {
  /** `at` if they may be sent then, otherwise the next time. */
  opening: (at: number) => number;
  /** Why they may not be sent at a time before its opening. */
  closedBy: (at: number) => LineReason;
  /** When an open time ends, to the minute; `limit` if it lasts until then, an hour at most. */
  closing: (at: number, limit: number) => number;
  /** When messages held by a daily cap are sent, after the midnight that ended that day. */
  morning: (midnight: number) => number;
}

export function sendTimes(rules: Rules, timezone: string): SendTimes {
  const { window, quiet } = rules;
  const morning = remembered((midnight) => morningAfter(rules, new Date(midnight), timezone).getTime());
  if (!window && !quiet)
    return { opening: (at) => at, closedBy: () => 'send_window', closing: (_, limit) => limit, morning };
  /** If the rules leave no time, the pacer looks again a day later. */
  const clamp = (at: number): number => firstSendTime(rules, new Date(at))?.getTime() ?? at + DAY_MS;
  let closed = { since: 0, until: 0 };
  /** For each hour of UTC: whether it is open throughout, closed until a later time, or neither. */
  const kindOf = remembered((hour): number => {
    const start = hour * HOUR_MS;
    // Closed times stay closed until the next opening.
    const isClosed = closed.since <= start && start + HOUR_MS <= closed.until;
    const first = isClosed ? closed.until : clamp(start);
    if (first > start && !isClosed) closed = { since: start, until: first };
    if (first > start) return first >= start + HOUR_MS ? first : MIXED;
    return isOpen(start + HOUR_MS - 1) ? OPEN : MIXED;
  });
  const isOpen = (at: number): boolean => clamp(at) === at;

  function opening(at: number): number {
    const kind = kindOf(Math.floor(at / HOUR_MS));
    if (kind === OPEN) return at;
    return kind === MIXED ? clamp(at) : kind;
  }

  /** As in the pacer: the reason is quiet hours if the window is open. */
  function closedBy(at: number): LineReason {
    const isOutside = firstSendTime({ window }, new Date(at))?.getTime() !== at;
    return isOutside ? 'send_window' : 'recipient_quiet_hours';
  }

  function closing(at: number, limit: number): number {
    const hour = Math.floor(at / HOUR_MS);
    const end = Math.min(limit, (hour + 1) * HOUR_MS);
    if (kindOf(hour) === OPEN || isOpen(end - 1)) return end;
    let [low, high] = [Math.floor(at / MINUTE_MS), Math.ceil(end / MINUTE_MS)];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (isOpen(middle * MINUTE_MS)) low = middle;
      else high = middle;
    }
    return high * MINUTE_MS;
  }

  return { opening, closedBy: quiet ? closedBy : () => 'send_window', closing, morning };
}

const OPEN = 0;
const MIXED = 1;

function remembered(work: (key: number) => number): (key: number) => number {
  const known = new Map<number, number>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= MAX_REMEMBERED) known.clear();
    const value = work(key);
    known.set(key, value);
    return value;
  };
}
