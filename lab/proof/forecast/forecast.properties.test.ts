import fc from 'fast-check';
import { expect, test } from 'vitest';
import { daysFrom, forecastOf, type Scenario, scenarioLine, simulateCampaign } from './campaigns.ts';

const ZONES = ['America/New_York', 'Europe/Berlin', 'Asia/Kolkata', 'Australia/Lord_Howe'];

/** @param gaps of the lines. @param weekdays on which the windows open. */
const aScenario = (gaps: readonly number[], weekdays: readonly number[][]): fc.Arbitrary<Scenario> =>
  fc
    .record({
      timezone: fc.constantFrom(...ZONES),
      start: fc
        .date({
          min: new Date('2026-03-01T00:00:00Z'),
          max: new Date('2026-11-30T00:00:00Z'),
          noInvalidDate: true,
        })
        .map((date) => new Date(Math.floor(date.getTime() / 1000) * 1000)),
      lines: fc.array(
        fc.record({
          dailyNew: fc.integer({ min: 5, max: 60 }),
          known: fc.integer({ min: 0, max: 80 }),
          hourlyNew: fc.option(fc.integer({ min: 1, max: 15 })),
          minGapSeconds: fc.constantFrom(...gaps),
          warmsUp: fc.boolean(),
          reputation: fc.constantFrom({}, { newFactor: 0.75 }, { newFactor: 0.4, gapFactor: 1.5 }),
          restDays: fc.constantFrom(0, 0, 2.3, 9),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      leads: fc.integer({ min: 30, max: 400 }),
      delays: fc.array(fc.constantFrom(0, 5, 120, 1440, 4320), { minLength: 1, maxLength: 4 }),
      window: fc.option(
        fc.record({
          start: fc.constantFrom('00:00', '08:30', '18:00', '22:15'),
          end: fc.constantFrom('12:00', '17:45', '02:00', '23:30'),
          days: fc.constantFrom(...weekdays),
        }),
      ),
      quiet: fc.option(
        fc.record({
          start: fc.constantFrom('08:00', '10:30'),
          end: fc.constantFrom('21:00', '16:45'),
          zones: fc.subarray(ZONES, { minLength: 1, maxLength: 3 }),
        }),
      ),
      sticky: fc.boolean(),
      waiting: fc.integer({ min: 0, max: 60 }),
    })
    .map(({ lines, window, quiet, timezone, start, ...scenario }) => ({
      ...scenario,
      name: 'random',
      timezone,
      start,
      lines: lines.map(({ dailyNew, known, warmsUp, reputation, restDays, ...line }, index) =>
        scenarioLine(index, timezone, {
          ...line,
          dailyNew,
          dailyTotal: dailyNew + known,
          warmupStartedAt: warmsUp ? start : null,
          ...reputation,
          restsUntil: restDays > 0 ? new Date(start.getTime() + restDays * 86_400_000) : null,
        }),
      ),
      ...(window && { window: { timezone, ...window } }),
      // With other windows and zones, there may be no time that both allow.
      ...(quiet && !window && { quiet }),
      ...(quiet && window?.start === '08:30' && { quiet: { ...quiet, zones: [timezone] } }),
    }));

/** By how much the forecast of the completion is off, of the days that it takes. */
function offOf(scenario: Scenario): number {
  const { completesAt, firstStepDoneAt, byDay } = forecastOf(scenario);
  if (!completesAt || !firstStepDoneAt) throw new Error('it never completes');
  expect(firstStepDoneAt <= completesAt).toBe(true);
  expect(byDay.reduce((sum, { messages }) => sum + messages, 0)).toBe(
    scenario.leads * scenario.delays.length,
  );
  const days = daysFrom(scenario.start, simulateCampaign(scenario).lastAt);
  return (daysFrom(scenario.start, completesAt) - days) / Math.max(days, 1);
}

/** Each takes up to a second of processor time. */
const RUNS = 30;

const offsOf = (scenarios: fc.Arbitrary<Scenario>, numRuns: number): number[] =>
  fc.sample(scenarios, { numRuns, seed: 1 }).map((scenario) => Math.abs(offOf(scenario)));

test('a forecast is the day on which a campaign then completes, to 5 %', () => {
  const everyDay = [0, 1, 2, 3, 4, 5, 6];
  const offs = offsOf(aScenario([0, 20, 60], [everyDay, [1, 2, 3, 4, 5]]), RUNS);
  expect(offs.filter((off) => off > 0.05)).toEqual([]);
  expect(offs.toSorted((a, b) => a - b)[RUNS / 2]).toBeLessThan(0.001);
});

/** A difference of seconds decides whether the last message still fits into a window; the next one opens days later. */
test('nearly all forecasts are, even if windows are short compared with the gaps, and open on two days a week', () => {
  // Quiet hours and longer gaps would make some of them take more than three years.
  const scenarios = aScenario([120, 600], [[2, 6]]).map(({ lines, ...scenario }) => ({
    ...scenario,
    quiet: undefined,
    lines: lines.map((line) => ({ ...line, gapFactor: 1 })),
  }));
  const offs = offsOf(scenarios, RUNS);
  expect(offs.filter((off) => off <= 0.05).length).toBeGreaterThanOrEqual(0.95 * RUNS);
});

test('no day of a forecast has more than the caps of the lines allow', () => {
  fc.assert(
    fc.property(aScenario([0, 20, 600], [[1, 2, 3, 4, 5]]), (scenario) => {
      const { byDay } = forecastOf({ ...scenario, waiting: 0 });
      const total = scenario.lines.reduce((sum, { dailyTotal }) => sum + dailyTotal, 0);
      const fresh = scenario.lines.reduce((sum, { dailyNew }) => sum + dailyNew, 0);
      for (const { messages, newConversations } of byDay) {
        expect(messages).toBeLessThanOrEqual(total);
        expect(newConversations).toBeLessThanOrEqual(fresh);
      }
    }),
    { numRuns: RUNS },
  );
});
