import { stepDate } from '../../../domain/campaigns/campaign-schedule.ts';
import type { MessageStep } from '../../../domain/campaigns/step.ts';
import { type ForecastResult, runForecast } from '../../../domain/campaigns/forecast/forecast.ts';
import { leadPlacesOf } from '../../../domain/campaigns/forecast/lead-places.ts';
import { sendTimes } from '../../../domain/campaigns/forecast/send-times.ts';
import { DEFAULT_LIMITS } from '../../../domain/sending/line-limits.ts';
import type { PacedLine } from '../../../domain/sending/holds.ts';
import { turnsOf } from '../../../domain/lines/pool-choice.ts';
import { firstSendTime, NO_QUIET_HOURS, type QuietPolicy } from '../../../domain/sending/quiet-hours.ts';
import { type SendWindow } from '../../../domain/sending/send-window.ts';
import { type Job, LineDriver, Workspace } from '../simulate/line-driver.ts';

/** A campaign that is forecast, and simulated message by message with the rules of domain/sending/pacing.ts. */
export interface Scenario {
  name: string;
  start: Date;
  timezone: string;
  lines: readonly PacedLine[];
  /** The weights of the lines, as in a pool. Default: 1 each. */
  weights?: readonly number[];
  leads: number;
  /** In minutes. */
  delays: readonly number[];
  window?: SendWindow;
  /** The quiet hours of the workspace. The leads take turns among the zones. */
  quiet?: { start: string; end: string; zones: readonly string[] } | undefined;
  sticky: boolean;
  /** Messages to strangers that wait at each line. */
  waiting: number;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export const scenarioLine = (
  index: number,
  timezone: string,
  fields: Partial<PacedLine> = {},
): PacedLine => ({
  id: `line-${index}`,
  channel: 'imessage',
  active: true,
  down: false,
  timezone,
  ...DEFAULT_LIMITS.imessage,
  warmupStartedAt: null,
  usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
  ...fields,
});

/** Processor time of this thread, in milliseconds: other work on the machine does not count. */
export function processorTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Runs a forecast to its end. @returns also the longest processor time without a yield, in milliseconds. */
export function forecastOf(scenario: Scenario): ForecastResult & { longestStep: number } {
  const { start, timezone, lines, weights, leads, delays, window, quiet, sticky, waiting } = scenario;
  const { channel } = lines[0] ?? { channel: 'imessage' };
  const run = runForecast({
    now: start,
    timezone,
    leads,
    sticky,
    places: leadPlacesOf(
      {
        quiet: quietPolicy(quiet),
        campaignId: null,
        window,
        places: (quiet?.zones ?? []).map((zone) => ({ zones: [zone], region: null, count: 1 })),
      },
      timezone,
    ),
    steps: delays.map((minutes) => ({ channel, carriers: [channel], delayMs: minutes * MINUTE_MS })),
    lines: lines.map((line, index) => ({
      line,
      weight: weights?.[index] ?? 1,
      history: { sentToday: 0, newToday: 0, newThisHour: 0, lastSentAt: null },
      waiting: [
        {
          isNew: true,
          isCounted: false,
          times: sendTimes({}, timezone),
          due: waiting > 0 ? [{ first: start, last: start, count: waiting }] : [],
        },
      ],
    })),
  });
  let longestStep = 0;
  for (;;) {
    const begun = processorTime();
    const step = run.next();
    longestStep = Math.max(longestStep, processorTime() - begun);
    if (step.done) return { ...step.value, longestStep };
  }
}

/** Sends every message of a campaign on a virtual clock. */
export function simulateCampaign(scenario: Scenario): { lastAt: Date; firstStepAt: Date } {
  const { start, weights, leads, delays, window, quiet, sticky, waiting } = scenario;
  const lines = scenario.lines.map((line) => ({ ...line, quiet: quietPolicy(quiet) }));
  const steps = delays.map((minutes) => ({ delay: { minutes } }) as MessageStep);
  const workspace = new Workspace();
  const turns = turnsOf(lines.map((_, index) => weights?.[index] ?? 1));
  const lineOf = (lead: number, step: number): number => {
    const turn = sticky ? lead : lead * steps.length + step;
    return turns[turn % turns.length] ?? 0;
  };
  /** Each line writes to contacts of all zones. */
  const zonesOf = (lead: number): string[] => {
    const { zones } = quiet ?? { zones: [] };
    return zones.slice(Math.floor(lead / turns.length) % zones.length).slice(0, 1);
  };
  /** The first time at which a lead may be sent a message. */
  const openingFor = (lead: number, at: Date): Date =>
    firstSendTime({ window, quiet: quiet && { ...quiet, zones: zonesOf(lead), law: null } }, at) ?? at;
  const jobOf = (lead: number, step: number, at: Date): Job => ({
    id: `${lead} ${step}`,
    address: `contact ${lead}`,
    scheduledAt: at,
    wroteAt: null,
    ...(window && { window }),
    ...(quiet && {
      recipient: {
        kind: 'campaign',
        campaignId: null,
        zones: zonesOf(lead),
        region: null,
      },
    }),
  });
  const wakes = lines.map(() => Infinity);
  let [lastAt, firstStepAt] = [start, start];
  const drivers: LineDriver[] = lines.map((line) => {
    const old = Array.from({ length: waiting }, (_, number): Job => ({
      id: `old ${line.id} ${number}`,
      address: `old ${line.id} ${number}`,
      scheduledAt: start,
      wroteAt: null,
    }));
    return new LineDriver(line, old, workspace, {
      onRound({ sent }) {
        for (const { job, at } of sent) {
          const [lead = NaN, step = NaN] = job.id.split(' ').map(Number);
          if (Number.isNaN(lead)) continue;
          lastAt = at;
          if (step === 0) firstStepAt = at;
          if (step + 1 === steps.length) continue;
          const to = lineOf(lead, step + 1);
          const due = openingFor(lead, stepDate(steps, `${step + 1}`, `${step + 2}`, window, at));
          drivers[to]?.add([jobOf(lead, step + 1, due)]);
          wakes[to] = Math.min(wakes[to] ?? Infinity, due.getTime());
        }
      },
    });
  });
  const due = new Date(start.getTime() + (delays[0] ?? 0) * MINUTE_MS);
  const first = lines.map((): Job[] => []);
  for (let lead = 0; lead < leads; lead += 1)
    first[lineOf(lead, 0)]?.push(jobOf(lead, 0, openingFor(lead, due)));
  for (const [index, jobs] of first.entries()) {
    drivers[index]?.add(jobs);
    wakes[index] = drivers[index]?.firstDue()?.getTime() ?? Infinity;
  }
  for (let now = start.getTime(); ;) {
    const next = Math.min(...wakes);
    if (next === Infinity) return { lastAt, firstStepAt };
    now = Math.max(now, next);
    const index = wakes.indexOf(next);
    wakes[index] = Infinity;
    const again = drivers[index]?.round(new Date(now))?.getTime() ?? Infinity;
    wakes[index] = Math.min(wakes[index] ?? Infinity, again);
  }
}

const quietPolicy = (quiet: Scenario['quiet']): QuietPolicy => ({
  workspace: quiet
    ? { ...NO_QUIET_HOURS, enabled: true, start: quiet.start, end: quiet.end }
    : NO_QUIET_HOURS,
  campaigns: new Map(),
});

export const daysFrom = (start: Date, at: Date): number => (at.getTime() - start.getTime()) / DAY_MS;
