import { expect, test } from 'vitest';
import { type Forecast, forecastSentence } from './forecast-sentence.ts';

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
