import { daysBetween } from '../base/calendar.ts';
import { type Channel, isPhoneChannel } from '../base/channel.ts';
import { pseudoRandom } from '../base/pseudo-random.ts';

/** The limits of a line: counts per local day or hour, gaps in seconds. */
export interface LineLimits {
  dailyTotal: number;
  dailyNew: number;
  /** null: the channel's default; for a phone line, a random number from 3 to 7 per hour. */
  hourlyNew: number | null;
  minGapSeconds: number;
  contactGapSeconds: number;
}

export interface LimitedLine extends LineLimits {
  id: string;
  channel: Channel;
  /** The workspace's IANA time zone, for the local days and hours. */
  timezone: string;
  /** null: no warm-up. */
  warmupStartedAt: Date | null;
  /** The effects of its reputation: factors for the caps of new conversations and for gaps. Default 1. */
  newFactor?: number;
  gapFactor?: number;
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

/** The cap of new conversations for the local day of `now`. It rises per local calendar day during the warm-up. */
export const dailyNewCap = (line: LimitedLine, now: Date): number => slowed(line, warmUpCap(line, now));

/** At least 1, because it only slows a line down. A line that rests starts no conversations at all (`restsUntil`). */
const slowed = ({ newFactor = 1 }: Pick<LimitedLine, 'newFactor'>, cap: number): number =>
  cap === 0 ? 0 : Math.max(1, Math.floor(cap * newFactor));

/** Like `dailyNewCap`, whatever the line's reputation. */
export function warmUpCap(line: LimitedLine, now: Date): number {
  if (!line.warmupStartedAt) return line.dailyNew;
  const days = Math.max(0, daysBetween(line.timezone, line.warmupStartedAt, now));
  return Math.min(line.dailyNew, WARM_UP.firstDay + WARM_UP.perDay * days);
}

/** The cap of new conversations for the local hour that starts at `hourStart`. Deterministic. */
export function hourlyNewCap(
  line: Pick<LimitedLine, 'id' | 'channel' | 'hourlyNew' | 'newFactor'>,
  hourStart: Date,
): number {
  const fixed =
    line.hourlyNew ?? (isPhoneChannel(line.channel) ? null : DEFAULT_LIMITS[line.channel].hourlyNew);
  if (fixed !== null) return slowed(line, fixed);
  const { from, to } = HOURLY_DRAW;
  return slowed(
    line,
    from + Math.floor(pseudoRandom(`${line.id} hour ${hourStart.toISOString()}`) * (to - from + 1)),
  );
}

/** The pause after the send at `lastSentAt` in milliseconds: `minGapSeconds` ± 50 %. Deterministic. */
export function lineGapMs(
  line: Pick<LimitedLine, 'id' | 'minGapSeconds' | 'gapFactor'>,
  lastSentAt: Date,
): number {
  const jitter = 1 + GAP_JITTER * (2 * pseudoRandom(`${line.id} gap ${lastSentAt.toISOString()}`) - 1);
  return Math.round(line.minGapSeconds * (line.gapFactor ?? 1) * 1000 * jitter);
}
