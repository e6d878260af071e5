import { DEFAULT_LIMITS } from '../../domain/sending/line-limits.ts';
import { localDate } from '../../domain/base/calendar.ts';
import {
  daysFrom,
  forecastOf,
  processorTime,
  scenarioLine,
  type Scenario,
  simulateCampaign,
} from './forecast/campaigns.ts';

/**
 * Compares forecasts of ten campaigns with what the pacing rules then do, message by message, and measures the forecast of
 * 100,000 leads. Fails if a day of completion differs by more than 5 %, or if that takes too long.
 */
const MAX_OFF = 0.05;
const MAX_MS = 2000;
const MAX_AT_ONCE_MS = 50;

const START = new Date('2026-03-04T15:30:00Z');
const DAY = 1440;
const lines = (count: number, timezone: string, fields: Parameters<typeof scenarioLine>[2] = {}) =>
  Array.from({ length: count }, (_, index) => scenarioLine(index, timezone, fields));
const EMAIL = { channel: 'email' as const, ...DEFAULT_LIMITS.email };
const BERLIN = 'Europe/Berlin';
const NEW_YORK = 'America/New_York';

/** The zones of each workspace; the leads of a campaign take turns among them. */
const quietIn = (...zones: string[]) => ({ start: '08:00', end: '21:00', zones });
const STATES = [NEW_YORK, 'America/Chicago', 'America/Phoenix', 'America/Los_Angeles'];
const EUROPE = quietIn(BERLIN, 'Europe/London', 'Europe/Athens');
/** The number of places that a forecast distinguishes. */
const AMERICA = quietIn(
  ...STATES,
  'America/Denver',
  'America/Anchorage',
  'America/Bogota',
  'America/Sao_Paulo',
);

const plain = { start: START, sticky: true, waiting: 0, delays: [0], quiet: quietIn(...STATES) };
const SCENARIOS: Scenario[] = [
  { ...plain, name: '3 lines, one message', timezone: NEW_YORK, lines: lines(3, NEW_YORK), leads: 1500 },
  {
    ...plain,
    name: '5 lines, 4 steps in 10 days',
    timezone: NEW_YORK,
    lines: lines(5, NEW_YORK),
    leads: 2000,
    delays: [0, 2 * DAY, 3 * DAY, 5 * DAY],
  },
  {
    ...plain,
    name: '3 lines, weekdays 9 to 17',
    quiet: EUROPE,
    timezone: BERLIN,
    lines: lines(3, BERLIN),
    leads: 1500,
    delays: [0, 3 * DAY],
    window: { timezone: BERLIN, start: '09:00', end: '17:00', days: [1, 2, 3, 4, 5] },
  },
  {
    ...plain,
    name: '2 lines in their warm-up',
    quiet: EUROPE,
    timezone: BERLIN,
    lines: lines(2, BERLIN, { warmupStartedAt: START }),
    leads: 1200,
    delays: [0, DAY],
  },
  {
    ...plain,
    name: '4 lines in turn for each message',
    quiet: quietIn('Asia/Kolkata', 'Asia/Dubai', 'Asia/Singapore'),
    timezone: 'Asia/Kolkata',
    lines: lines(4, 'Asia/Kolkata'),
    leads: 1000,
    delays: [60, 2 * DAY, 2 * DAY],
    sticky: false,
  },
  {
    ...plain,
    name: '3 email lines, 3 steps',
    timezone: NEW_YORK,
    lines: lines(3, NEW_YORK, EMAIL),
    leads: 3000,
    delays: [0, 4 * DAY, 7 * DAY],
  },
  {
    ...plain,
    name: '3 lines with 400 messages waiting',
    timezone: NEW_YORK,
    lines: lines(3, NEW_YORK),
    leads: 800,
    delays: [0, DAY],
    waiting: 400,
  },
  {
    ...plain,
    name: '2 lines with long gaps, two hours a day',
    quiet: EUROPE,
    timezone: BERLIN,
    lines: lines(2, BERLIN, { minGapSeconds: 240, hourlyNew: 100 }),
    leads: 900,
    delays: [0, DAY],
    window: { timezone: BERLIN, start: '18:30', end: '20:30' },
  },
  {
    ...plain,
    name: 'pool with weights 3, 2, 1',
    timezone: NEW_YORK,
    lines: lines(3, NEW_YORK),
    weights: [3, 2, 1],
    leads: 1200,
    delays: [0, 2 * DAY],
  },
  {
    ...plain,
    name: '2 lines by hand, messages a day limited',
    quiet: quietIn('Australia/Lord_Howe', 'Australia/Perth', 'Pacific/Auckland'),
    timezone: 'Australia/Lord_Howe',
    lines: lines(2, 'Australia/Lord_Howe', { dailyTotal: 60, dailyNew: 40, hourlyNew: 10, minGapSeconds: 0 }),
    leads: 1000,
    delays: [0, DAY, DAY],
  },
];

console.log('| Campaign | Leads | Forecast | Simulation | Days | Off |');
console.log('| - | -: | - | - | -: | -: |');
for (const scenario of SCENARIOS) {
  const { completesAt } = forecastOf(scenario);
  const { lastAt } = simulateCampaign(scenario);
  if (!completesAt) throw new Error(`${scenario.name}: no forecast`);
  const [forecast, actual] = [daysFrom(START, completesAt), daysFrom(START, lastAt)];
  const off = (forecast - actual) / actual;
  const date = (at: Date): string => localDate(scenario.timezone, at);
  console.log(
    `| ${scenario.name} | ${scenario.leads.toLocaleString('en-US')} | ${date(completesAt)} | ${date(lastAt)} | ${actual.toFixed(1)} | ${(off * 100).toFixed(1)} % |`,
  );
  if (Math.abs(off) > MAX_OFF) process.exitCode = 1;
}

for (const [count, delays] of [
  [1, [0]],
  [10, [0, 2 * DAY, 3 * DAY]],
  [100, [0, 2 * DAY, 3 * DAY, 4 * DAY]],
] as const) {
  const begun = processorTime();
  const { longestStep, completesAt } = forecastOf({
    ...plain,
    name: 'large',
    timezone: NEW_YORK,
    lines: lines(count, NEW_YORK),
    leads: 100_000,
    delays,
    window: { timezone: NEW_YORK, start: '09:00', end: '18:00' },
    quiet: AMERICA,
  });
  const took = processorTime() - begun;
  console.log(
    `100,000 leads, ${count} lines, ${delays.length} steps: ${took.toFixed(0)} ms, ${longestStep.toFixed(1)} ms at most at once, complete ${completesAt?.toISOString().slice(0, 10) ?? 'never'}`,
  );
  if (took > MAX_MS || longestStep > MAX_AT_ONCE_MS) process.exitCode = 1;
}
