import type { Channel } from '#domain/base/channel.ts';
import { type DaySignals, startOfDayAfter } from '#domain/lines/line-signals.ts';
import type { PacedLine } from '#domain/sending/holds.ts';
import {
  effectsOf,
  judge,
  JUDGED_DAYS,
  type ReputationPolicy,
  type ReputationState,
} from '#domain/lines/reputation.ts';

/** The effect of a line's reputation on its pacing from a time on. */
export interface LineChange extends Pick<PacedLine, 'newFactor' | 'gapFactor' | 'restsUntil'> {
  from: Date;
}

/**
 * How the effects of a line's reputation change as its signals leave the window and its override ends, if nothing else happens.
 * @param days the signals of the days from which the reputation is computed.
 */
export function changesOfLine(
  line: {
    channel: Channel;
    state: ReputationState;
    policy: ReputationPolicy;
    overriddenUntil: Date | null;
  },
  days: readonly DaySignals[],
  now: Date,
): LineChange[] {
  const { channel, state, policy, overriddenUntil } = line;
  if (policy !== 'protect' || state === 'new' || state === 'healthy') return [];
  const times = Array.from({ length: JUDGED_DAYS }, (_, day) => startOfDayAfter(now, day + 1));
  if (overriddenUntil !== null && overriddenUntil > now) times.push(overriddenUntil);
  const later = times
    .toSorted((a, b) => a.getTime() - b.getTime())
    .map((from) => ({
      from,
      ...effectsOf({ state: judge(channel, days, from).state, policy, overriddenUntil }, from),
    }));
  return later.map(({ from, newConversationsFactor, newConversationsStopped, gapFactor }, index) => ({
    from,
    gapFactor,
    ...(newConversationsStopped
      ? {
          newFactor: 1,
          restsUntil: later.slice(index).find((next) => !next.newConversationsStopped)?.from ?? null,
        }
      : { newFactor: newConversationsFactor, restsUntil: null }),
  }));
}
