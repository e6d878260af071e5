import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DaySignals, NO_SIGNALS, type LineSignal, signalDay } from './line-signals.ts';
import {
  effectsOf,
  historyOf,
  judge,
  NO_EFFECTS,
  ReputationPolicy,
  ReputationState,
  restsUntil,
} from './reputation.ts';

const NOW = new Date('2026-06-10T15:00:00Z');
const DAY_MS = 86_400_000;
const dayBefore = (days: number): string => signalDay(new Date(NOW.getTime() - days * DAY_MS));
const day = (age: number, counts: Partial<DaySignals>): DaySignals => ({
  ...NO_SIGNALS,
  day: dayBefore(age),
  ...counts,
});

/** A day's work of a line that people welcome. */
const GOOD = { sent: 30, opened: 20, approached: 25, answered: 5, received: 10, silent: 1 };
const month = (counts: Partial<DaySignals>): DaySignals[] =>
  Array.from({ length: 28 }, (_, age) => day(age, { ...GOOD, ...counts }));

const count = fc.integer({ min: 0, max: 60 });
const anyDay = fc.record(
  Object.fromEntries(Object.keys(NO_SIGNALS).map((name) => [name, count])) as Record<
    LineSignal,
    typeof count
  >,
);
const anyDays = fc
  .array(anyDay, { minLength: 1, maxLength: 40 })
  .map((days) => days.map((counts, age): DaySignals => ({ ...counts, day: dayBefore(age) })));
const channel = fc.constantFrom('imessage' as const, 'sms' as const, 'email' as const);

describe('the score of a line', () => {
  it('is between 0 and 100, and 100 with every term at its best', () => {
    fc.assert(
      fc.property(channel, anyDays, (of, days) => {
        const { score, terms } = judge(of, days, NOW);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(100);
        for (const { points, weight } of terms) {
          expect(points).toBeLessThanOrEqual(0);
          expect(points).toBeGreaterThanOrEqual(-weight);
        }
      }),
    );
    expect(judge('imessage', month({}), NOW)).toMatchObject({ state: 'healthy', score: 100 });
  });

  const BAD = ['linked', 'silent', 'undelivered', 'failed', 'optouts', 'complained', 'bounced'] as const;
  it.each(BAD)('never rises with more %s', (signal) => {
    fc.assert(
      fc.property(channel, anyDays, fc.nat(39), fc.integer({ min: 1, max: 50 }), (of, days, at, more) => {
        const worse = days.map((counts, index) =>
          index === at % days.length ? { ...counts, [signal]: counts[signal] + more } : counts,
        );
        expect(judge(of, worse, NOW).score).toBeLessThanOrEqual(judge(of, days, NOW).score);
      }),
    );
  });

  it.each(['answered', 'received', 'revived'] as const)('never falls with more %s', (signal) => {
    fc.assert(
      fc.property(channel, anyDays, fc.nat(39), fc.integer({ min: 1, max: 50 }), (of, days, at, more) => {
        const better = days.map((counts, index) =>
          index === at % days.length ? { ...counts, [signal]: counts[signal] + more } : counts,
        );
        expect(judge(of, better, NOW).score).toBeGreaterThanOrEqual(judge(of, days, NOW).score);
      }),
    );
  });

  it('recovers as the window moves, whatever happened', () => {
    fc.assert(
      fc.property(channel, anyDays, (of, days) => {
        const later = new Date(NOW.getTime() + 28 * DAY_MS);
        expect(judge(of, days, later)).toMatchObject({ state: 'new', score: 100 });
        const until = restsUntil(of, days, NOW);
        expect(until !== null).toBe(judge(of, days, NOW).state === 'critical');
        if (until) {
          expect(until.getTime()).toBeGreaterThan(NOW.getTime());
          expect(judge(of, days, until).state).not.toBe('critical');
        }
      }),
    );
  });

  it('does not look ahead: later days change nothing', () => {
    fc.assert(
      fc.property(anyDays, (days) => {
        const now = new Date(NOW.getTime() - 10 * DAY_MS);
        const known = days.filter((counts) => counts.day <= signalDay(now));
        expect(judge('sms', days, now)).toEqual(judge('sms', known, now));
      }),
    );
  });
});

describe('the state of a line', () => {
  it('is new with fewer than 20 new conversations in 28 days, whatever its score', () => {
    expect(judge('sms', [day(3, { sent: 40, opened: 19, complained: 19 })], NOW).state).toBe('new');
    expect(judge('sms', [day(3, { sent: 40, opened: 20, complained: 19 })], NOW).state).not.toBe('new');
    expect(judge('sms', [day(28, { opened: 500 })], NOW).state).toBe('new');
  });

  it('follows from the score: healthy from 75, watch from 50, at risk from 25, else critical', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.nat(60), fc.nat(20), fc.nat(5), (optouts, complained, answered) => {
        const { state, score } = judge(
          'sms',
          month({ optouts: optouts / 10, complained: complained / 10, answered }),
          NOW,
        );
        seen.add(state);
        expect(state).toBe(
          score >= 75 ? 'healthy' : score >= 50 ? 'watch' : score >= 25 ? 'at_risk' : 'critical',
        );
      }),
    );
    expect(seen).toEqual(new Set(['healthy', 'watch', 'at_risk', 'critical']));
  });

  it.each(['optouts', 'complained'])('is not decided by one case of %s', (signal) => {
    const days = [day(5, { sent: 25, opened: 25, approached: 25, answered: 4, [signal]: 1 })];
    expect(['healthy', 'watch']).toContain(judge('imessage', days, NOW).state);
  });
});

describe('the effects', () => {
  const anyState = fc.constantFrom(...ReputationState.options);

  it('are none with observe or off, while overridden, and for a new line', () => {
    fc.assert(
      fc.property(
        anyState,
        fc.constantFrom(...ReputationPolicy.options),
        fc.boolean(),
        (state, policy, over) => {
          const overriddenUntil = over ? new Date(NOW.getTime() + 1) : null;
          const effects = effectsOf({ state, policy, overriddenUntil }, NOW);
          if (policy !== 'protect' || over || state === 'new') expect(effects).toEqual(NO_EFFECTS);
          expect(effects.newConversationsFactor).toBeLessThanOrEqual(1);
          expect(effects.gapFactor).toBeGreaterThanOrEqual(1);
        },
      ),
    );
  });

  it('end with the override', () => {
    const of = { state: 'critical', policy: 'protect', overriddenUntil: NOW } as const;
    expect(effectsOf(of, new Date(NOW.getTime() - 1))).toEqual(NO_EFFECTS);
    expect(effectsOf(of, NOW).newConversationsStopped).toBe(true);
  });
});

describe('the history of a line', () => {
  it('has a judgement for each day since the first one that was counted, and ends today', () => {
    const history = historyOf('sms', month({}), NOW);
    expect(history).toHaveLength(28);
    expect(history.at(-1)).toMatchObject({ date: '2026-06-10', ...pick(judge('sms', month({}), NOW)) });
    expect(history[0]).toMatchObject({ date: dayBefore(27) });
    expect(historyOf('sms', [], NOW)).toEqual([]);
  });
});

const pick = ({ state, score }: { state: string; score: number }) => ({ state, score });
