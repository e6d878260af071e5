import { morningAfter } from '../pacing.ts';
import { clampToWindow, type SendWindow } from '../send-window.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** More than the hours of three years. */
const MOST_REMEMBERED = 30_000;

/** When messages may be sent, in milliseconds: by their window, and whatever else closes hours to them. */
export interface SendTimes {
  /** `at` if they may be sent then, else the next time. */
  opening: (at: number) => number;
  /** When an open time ends, to the minute; `limit` if it lasts until then, an hour at most. */
  closing: (at: number, limit: number) => number;
  /** When what a cap of the day holds is sent, after the midnight that ended that day. */
  morning: (midnight: number) => number;
}

export function sendTimes(window: SendWindow | undefined, timezone: string): SendTimes {
  const morning = remembered((midnight) => morningAfter(window, new Date(midnight), timezone).getTime());
  if (!window) return { opening: (at) => at, closing: (_, limit) => limit, morning };
  /** Of each hour of UTC: open for all of it, closed until a time after it, or neither. */
  const kindOf = remembered((hour): number => {
    const start = hour * HOUR_MS;
    const first = clampToWindow(window, new Date(start)).getTime();
    if (first > start) return first >= start + HOUR_MS ? first : MIXED;
    return isOpen(start + HOUR_MS - 1) ? OPEN : MIXED;
  });
  const isOpen = (at: number): boolean => clampToWindow(window, new Date(at)).getTime() === at;

  function opening(at: number): number {
    const kind = kindOf(Math.floor(at / HOUR_MS));
    if (kind === OPEN) return at;
    return kind === MIXED ? clampToWindow(window, new Date(at)).getTime() : kind;
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

  return { opening, closing, morning };
}

const OPEN = 0;
const MIXED = 1;

function remembered(work: (key: number) => number): (key: number) => number {
  const known = new Map<number, number>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= MOST_REMEMBERED) known.clear();
    const value = work(key);
    known.set(key, value);
    return value;
  };
}
