import { dayBounds, daysBetween, hourBounds, localDate } from '#domain/base/calendar.ts';
import type { LineReason } from '#domain/sending/wait-reasons.ts';
import { Cohorts } from './cohorts.ts';
import { enterLeads } from './enter-leads.ts';
import { LineRun, type Stream } from './line-run.ts';
import type { Count, ForecastPlan, WaitingMessages } from './plan.ts';
import type { SendTimes } from './send-times.ts';

export interface ForecastDay {
  date: string;
  messages: number;
  newConversations: number;
}

export interface ForecastResult {
  /** null: not within `MAX_DAYS`, or a line that sends nothing until somebody changes that holds some of the messages. */
  completesAt: Date | null;
  firstStepDoneAt: Date | null;
  byDay: ForecastDay[];
  limitedBy: { reason: LineReason; share: number }[];
}

/** The forecast does not look further ahead. */
const MAX_DAYS = 1096;
const DAY_MS = 86_400_000;
const LEAST_SHARE = 0.005;

/**
 * Simulates the pacing rules; yields after each hour of each line, so that other work gets a turn, and after the first use of
 * each place's time zone, which takes some milliseconds.
 */
export function* runForecast(plan: ForecastPlan): Generator<void, ForecastResult> {
  const { now, timezone } = plan;
  const horizon = now.getTime() + MAX_DAYS * DAY_MS;
  const days = new Map<number, ForecastDay>();
  const limits = new Map<LineReason, number>();
  let today: ForecastDay = { date: '', messages: 0, newConversations: 0 };
  for (const times of timesOf(plan)) {
    times.opening(now.getTime());
    yield;
  }
  const left = { messages: 0, firstSteps: plan.leads };
  let lastAt: number | null = null;
  let firstAt: number | null = null;

  const runs = plan.lines.map(
    ({ line, history, changes }) =>
      new LineRun(line, {
        history,
        changes,
        now: now.getTime(),
        onDay: (reason, count) => void (count > 0 && limits.set(reason, (limits.get(reason) ?? 0) + count)),
      }),
  );

  function count(step: number, isNew: boolean, sent: number, to: number): void {
    today.messages += sent;
    if (isNew) today.newConversations += sent;
    left.messages -= sent;
    lastAt = Math.max(lastAt ?? 0, to);
    if (step > 0) return;
    left.firstSteps -= sent;
    firstAt = Math.max(firstAt ?? 0, to);
  }

  for (const [index, { waiting }] of plan.lines.entries()) {
    const run = runs[index];
    if (run) for (const those of waiting) left.messages += queueWaiting(run, those, count);
  }
  const entered = enterLeads(plan, runs, count);
  left.messages += entered.messages;

  while (left.messages > 0) {
    const next = Math.max(now.getTime(), Math.min(...runs.map(({ wakeAt }) => wakeAt)));
    if (next >= horizon) break;
    const at = new Date(next);
    const [hour, day] = [hourBounds(timezone, at), dayBounds(timezone, at)];
    let known = days.get(day.start.getTime());
    if (!known) {
      known = { date: localDate(timezone, at), messages: 0, newConversations: 0 };
      days.set(day.start.getTime(), known);
    }
    today = known;
    for (const run of runs) {
      if (run.wakeAt >= hour.end.getTime()) continue;
      run.run(hour, day, next);
      yield;
    }
    entered.flush();
  }
  for (const run of runs) run.finish(Math.max(1, days.size));
  return {
    completesAt: left.messages === 0 && lastAt !== null ? new Date(lastAt) : null,
    firstStepDoneAt: plan.leads > 0 && left.firstSteps === 0 && firstAt !== null ? new Date(firstAt) : null,
    byDay: [...days.values()].filter(({ messages }) => messages > 0),
    limitedBy: sharesOf(limits),
  };
}

const timesOf = ({ places, lines }: ForecastPlan): Set<SendTimes> =>
  new Set([...places, ...lines.flatMap(({ waiting }) => waiting)].map(({ times }) => times));

function sharesOf(limits: ReadonlyMap<LineReason, number>): ForecastResult['limitedBy'] {
  const total = [...limits.values()].reduce((sum, days) => sum + days, 0);
  return [...limits]
    .map(([reason, days]) => ({ reason, share: Math.round((days / total) * 100) / 100 }))
    .filter(({ share }) => share > LEAST_SHARE)
    .toSorted((a, b) => b.share - a.share);
}

/** Queues what already waits at a line, with its later steps. @returns how many of them are counted. */
function queueWaiting(run: LineRun, waiting: WaitingMessages, count: Count): number {
  const { isNew, times, due, later = [], isCounted } = waiting;
  const streams: Stream[] = [];
  const remaining = later.map((step) => step.count);
  const streamOf = (step: number): Stream =>
    (streams[step] ??= run.add({
      isNew: isNew && step === 0,
      times,
      cohorts: new Cohorts(),
      isCounted,
      isEarlier: true,
      onSent(sent, from, to) {
        // Waiting messages are not first steps of leads who enter now.
        if (isCounted) count(1, isNew && step === 0, sent, to);
        const next = later[step];
        const follow = Math.min(sent, remaining[step] ?? 0);
        if (!next || follow === 0) return;
        remaining[step] = (remaining[step] ?? 0) - follow;
        run.queue(streamOf(step + 1), times.opening((from + to) / 2 + next.delayMs), follow);
      },
    }));
  // A stream that sends later steps must not be added while the line looks at its streams.
  for (let step = 0; step <= later.length; step += 1) streamOf(step);
  const head = streamOf(0);
  let total = 0;
  for (const { first, last, count: waits } of due) {
    run.queue(head, first.getTime(), waits - 1);
    // The forecast must not complete before the last message is due.
    run.queue(head, last.getTime(), 1);
    total += waits;
  }
  const followers = later.reduce((sum, step) => sum + Math.min(step.count, total), 0);
  return isCounted ? total + followers : 0;
}

/** In how many local days from today a time is: 1 means today. */
export const daysUntil = (timezone: string, now: Date, at: Date): number =>
  daysBetween(timezone, now, at) + 1;
