import { expect, test } from 'vitest';
import { type Forecast, forecastSentence, tooEarly } from './forecast-sentence.ts';

const NOW = new Date('2026-11-02T12:00:00Z');
const FORECAST: Forecast = {
  success: true,
  completesAt: '2026-12-03T15:00:00.000Z',
  firstStepDoneAt: '2026-11-26T15:00:00.000Z',
  byDay: [],
  limitedBy: [
    { reason: 'daily_new_cap', share: 0.8 },
    { reason: 'scheduled', share: 0.2 },
  ],
  linesFor: [
    { days: 32, lines: 3 },
    { days: 29, lines: 4 },
    { days: 26, lines: 5 },
    { days: 20, lines: 6 },
  ],
  finishBy: null,
};
const plain = (text: string | null) => text?.replaceAll(/\s/g, ' ');

test('a sentence states when the campaign finishes, what limits it and what more lines would do', () => {
  const told = plain(forecastSentence(FORECAST, 'UTC', NOW));
  expect(told).toMatch(
    /^First step done on Thursday.*November.*, all by .*Dec.*; two more lines would make it .*27/,
  );
  expect(told).toContain('; limited by new conversations per day.');
});

test('a single day is named once, and lines that save no time are not mentioned', () => {
  const told = forecastSentence(
    {
      ...FORECAST,
      firstStepDoneAt: FORECAST.completesAt,
      linesFor: [
        { days: 32, lines: 3 },
        { days: 32, lines: 4 },
      ],
    },
    'UTC',
    NOW,
  );
  expect(told).toMatch(/^All done on Thursday/);
  expect(told).not.toContain('more line');
});

test('a campaign that takes more than three years has no date', () => {
  expect(forecastSentence({ ...FORECAST, completesAt: null }, 'UTC', NOW)).toBe(
    'This would take more than three years.',
  );
});

test('of what is already done there is nothing to say', () => {
  expect(forecastSentence({ ...FORECAST, completesAt: null, limitedBy: [] }, 'UTC', NOW)).toBeNull();
});

test('a deadline before the end is called too early', () => {
  const { completesAt } = FORECAST;
  expect(plain(tooEarly('2026-12-03T14:59:00.000Z', completesAt, 'UTC'))).toMatch(
    /^It is to be finished by .*Dec.* 2026.*: that is too early\.$/,
  );
  expect(tooEarly('2026-12-03T14:59:00.000Z', null, 'UTC')).toContain('that is too early');
  expect(tooEarly(completesAt, completesAt, 'UTC')).toBeNull();
  expect(tooEarly(null, completesAt, 'UTC')).toBeNull();
});
