import { createHash } from 'node:crypto';
import { daysBetween } from './calendar.ts';
import { type Channel, isPhoneChannel } from './channel.ts';

/** The limits of a line, as an operator sets them: counts per local day or hour, gaps in seconds. */
export interface LineLimits {
  dailyTotal: number;
  dailyNew: number;
  /** null: the channel's own, for a phone line drawn between 3 and 7 for each hour. */
  hourlyNew: number | null;
  minGapSeconds: number;
  contactGapSeconds: number;
}

export interface LimitedLine extends LineLimits {
  id: string;
  channel: Channel;
  /** The workspace's IANA zone: its days and hours are the ones counted. */
  timezone: string;
  /** null: no warm-up. */
  warmupStartedAt: Date | null;
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

/** New conversations a line may open in the local day of `now`; a warm-up grows by local calendar days. */
export function dailyNewCap(line: LimitedLine, now: Date): number {
  if (!line.warmupStartedAt) return line.dailyNew;
  const days = Math.max(0, daysBetween(line.timezone, line.warmupStartedAt, now));
  return Math.min(line.dailyNew, WARM_UP.firstDay + WARM_UP.perDay * days);
}

/** New conversations a line may open in the local hour from `hourStart` on: the same on every call. */
export function hourlyNewCap(
  line: Pick<LimitedLine, 'id' | 'channel' | 'hourlyNew'>,
  hourStart: Date,
): number {
  const fixed =
    line.hourlyNew ?? (isPhoneChannel(line.channel) ? null : DEFAULT_LIMITS[line.channel].hourlyNew);
  if (fixed !== null) return fixed;
  const { from, to } = HOURLY_DRAW;
  return from + Math.floor(draw(`${line.id} hour ${hourStart.toISOString()}`) * (to - from + 1));
}

/** The pause after the send at `lastSentAt`: `minGapSeconds` ± 50 %, in milliseconds, the same each time. */
export function lineGapMs(line: Pick<LimitedLine, 'id' | 'minGapSeconds'>, lastSentAt: Date): number {
  const jitter = 1 + GAP_JITTER * (2 * draw(`${line.id} gap ${lastSentAt.toISOString()}`) - 1);
  return Math.round(line.minGapSeconds * 1000 * jitter);
}

/** A number from 0 up to but not including 1 that depends on nothing but `name`. */
function draw(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32;
}
