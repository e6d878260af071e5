import { z } from 'zod';
import type { Channel } from '../base/channel.ts';
import { type DaySignals, daysBefore, signalDay, startOfDayAfter, sumSignals } from './line-signals.ts';
import { type Term, TERM_NAMES, termsOf } from './reputation-terms.ts';

/**
 * The reputation of a line, and its effect on pacing. Pure functions of counted signals, with the
 * time as a parameter, so that they can be replayed over history.
 */
export const ReputationState = z.enum(['new', 'healthy', 'watch', 'at_risk', 'critical']);
export type ReputationState = z.infer<typeof ReputationState>;

/** `protect`: slows down new conversations; `observe`: only scores and notifies; `off`: does not notify either. */
export const ReputationPolicy = z.enum(['protect', 'observe', 'off']);
export type ReputationPolicy = z.infer<typeof ReputationPolicy>;

export const ReputationTerm = z
  .object({
    name: z.enum(TERM_NAMES),
    value: z.number().nullable().meta({
      description:
        '`count / of`; null: nothing was counted. For `burst`, the busiest day as a multiple of the usual one.',
    }),
    weight: z.number().meta({ description: 'The maximum number of points that it can subtract.' }),
    points: z.number().meta({ description: 'The points that it subtracts from 100: 0 to `-weight`.' }),
    text: z.string().meta({ description: 'The numbers in a sentence for a person; may change.' }),
    evidence: z.object({ count: z.int(), of: z.int(), days: z.int() }),
  })
  .meta({ id: 'ReputationTerm' });

export const ReputationEffects = z
  .object({
    newConversationsFactor: z
      .number()
      .meta({ description: 'The caps of new conversations are multiplied by it.' }),
    gapFactor: z.number().meta({ description: 'The gap between two sends is multiplied by it.' }),
    newConversationsStopped: z.boolean(),
  })
  .meta({ id: 'ReputationEffects' });
export type ReputationEffects = z.infer<typeof ReputationEffects>;

const ReputationOverride = z
  .object({ until: z.iso.datetime(), reason: z.string() })
  .meta({ id: 'ReputationOverride' });

/** The reputation in the representation of a line. */
export const LineReputation = z.object({
  state: ReputationState,
  score: z.int().min(0).max(100),
});

/** `GET /api/lines/{id}/reputation`. */
export const Reputation = LineReputation.extend({
  lineId: z.string(),
  since: z.iso.datetime().nullable().meta({ description: 'Since when the line is in this state.' }),
  policy: ReputationPolicy.meta({ description: "The line's own policy, otherwise the workspace's." }),
  override: ReputationOverride.nullable().meta({
    description: 'Until this time, the reputation has no effects.',
  }),
  effects: ReputationEffects,
  terms: z.array(ReputationTerm),
  history: z.array(z.object({ date: z.iso.date(), score: z.int(), state: ReputationState })).meta({
    description: 'By UTC day, oldest first. Answers count for the day on which the conversation started.',
  }),
}).meta({ id: 'Reputation' });
export type Reputation = z.infer<typeof Reputation>;

export const OverrideInput = z
  .object({ hours: z.int().min(1).max(168), reason: z.string().trim().min(1).max(500) })
  .meta({ id: 'ReputationOverrideInput' });

/** A line with fewer new conversations in `NEW_DAYS` days is `new`. */
const NEW_BELOW = 20;
const NEW_DAYS = 28;
const HEALTHY_FROM = 75;
const WATCH_FROM = 50;
const AT_RISK_FROM = 25;

/** The days from which the score is computed. */
export const JUDGED_DAYS = 28;
/** Days of the history that the API shows. */
export const HISTORY_DAYS = 60;

export interface Judgement {
  state: ReputationState;
  /** 0 to 100. */
  score: number;
  terms: Term[];
}

/** Scores a line at `now` from the signals of its days. Days after that of `now` do not count. */
export function judge(channel: Channel, days: readonly DaySignals[], now: Date): Judgement {
  const terms = termsOf(channel, days, now);
  const score = Math.round(Math.max(0, 100 + terms.reduce((sum, term) => sum + term.points, 0)));
  const { opened } = sumSignals(days, daysBefore(now, NEW_DAYS - 1), signalDay(now));
  return { state: opened < NEW_BELOW ? 'new' : stateOf(score), score, terms };
}

function stateOf(score: number): ReputationState {
  if (score >= HEALTHY_FROM) return 'healthy';
  if (score >= WATCH_FROM) return 'watch';
  return score >= AT_RISK_FROM ? 'at_risk' : 'critical';
}

export const NO_EFFECTS: ReputationEffects = {
  newConversationsFactor: 1,
  gapFactor: 1,
  newConversationsStopped: false,
};

const EFFECTS: Record<ReputationState, ReputationEffects> = {
  new: NO_EFFECTS,
  healthy: NO_EFFECTS,
  watch: { newConversationsFactor: 0.75, gapFactor: 1, newConversationsStopped: false },
  at_risk: { newConversationsFactor: 0.4, gapFactor: 1.5, newConversationsStopped: false },
  critical: { newConversationsFactor: 0, gapFactor: 1.5, newConversationsStopped: true },
};

/** The effects of a state on the pacing of a line. @param overriddenUntil null: not overridden. */
export function effectsOf(
  {
    state,
    policy,
    overriddenUntil,
  }: { state: ReputationState; policy: ReputationPolicy; overriddenUntil: Date | null },
  now: Date,
): ReputationEffects {
  if (policy !== 'protect' || (overriddenUntil !== null && overriddenUntil > now)) return NO_EFFECTS;
  return EFFECTS[state];
}

/** When a critical line leaves that state if nothing else happens: the beginning of a UTC day. Null: it is not critical. */
export function restsUntil(channel: Channel, days: readonly DaySignals[], now: Date): Date | null {
  if (judge(channel, days, now).state !== 'critical') return null;
  for (let day = 1; day < JUDGED_DAYS; day += 1) {
    const at = startOfDayAfter(now, day);
    if (judge(channel, days, at).state !== 'critical') return at;
  }
  // By then, no counted day is in the window any more.
  return startOfDayAfter(now, JUDGED_DAYS);
}

/** The line's score at the end of each of the last days, and now. @param length the number of days, including today. */
export function historyOf(
  channel: Channel,
  days: readonly DaySignals[],
  now: Date,
  length = HISTORY_DAYS,
): Reputation['history'] {
  const [first] = days.map(({ day }) => day).toSorted();
  if (first === undefined) return [];
  return Array.from({ length }, (_, index) => startOfDayAfter(now, index + 1 - length))
    .filter((start) => signalDay(start) >= first)
    .map((start) => {
      const { score, state } = judge(channel, days, start);
      return { date: signalDay(start), score, state };
    });
}
