import { DEFAULT_LIMITS } from '#domain/sending/line-limits.ts';
import { stopOf } from '#domain/sending/why-it-waits.ts';
import { runInTurns } from '#domain/base/turns.ts';
import { daysUntil, type ForecastResult, runForecast } from './forecast.ts';
import type { ForecastLine, ForecastPlan } from './plan.ts';

/** How many days the work takes with how many lines, today included. */
export interface LinesFor {
  days: number;
  lines: number;
}

/** Runs a forecast, and those of the same work with one more line, with two, and with twice as many. */
export async function forecastWithMoreLines(
  plan: ForecastPlan,
): Promise<ForecastResult & { linesFor: LinesFor[] }> {
  const result = await runInTurns(runForecast(plan));
  const count = plan.lines.filter(({ weight }) => weight > 0).length;
  const linesFor = daysOf(plan, result, count);
  // Only leads who enter now are assigned to new lines.
  if (plan.leads > 0)
    for (const more of new Set([1, 2, count])) {
      const lines = [
        ...workingShares(plan),
        ...Array.from({ length: more }, (_, index) => newLine(plan, index)),
      ];
      linesFor.push(...daysOf(plan, await runInTurns(runForecast({ ...plan, lines })), count + more));
    }
  return { ...result, linesFor: linesFor.toSorted((a, b) => a.lines - b.lines) };
}

/** Lines that are stopped get no leads once there are others. */
const workingShares = ({ lines, now }: ForecastPlan): ForecastLine[] =>
  lines.map((line) => (stopOf(line.line, now) === null ? line : { ...line, weight: 0 }));

const daysOf = (
  { timezone, now }: ForecastPlan,
  { completesAt }: ForecastResult,
  lines: number,
): LinesFor[] => (completesAt ? [{ days: daysUntil(timezone, now, completesAt), lines }] : []);

/** A line like the first one of the plan, in its warm-up. */
function newLine({ lines, timezone, now }: ForecastPlan, index: number): ForecastLine {
  const channel = lines.find(({ weight }) => weight > 0)?.line.channel ?? 'imessage';
  return {
    line: {
      id: `new line ${index}`,
      channel,
      active: true,
      down: false,
      timezone,
      ...DEFAULT_LIMITS[channel],
      warmupStartedAt: now,
      usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
    },
    weight: 1,
    history: { sentToday: 0, newToday: 0, newThisHour: 0, lastSentAt: null },
    waiting: [],
  };
}
